import { expect, test } from "vitest";
import type { TelemetryEvent } from "../domain/telemetry.ts";
import { Metrics } from "./metrics.ts";

function rendered(...events: readonly TelemetryEvent[]): readonly string[] {
  const metrics = new Metrics();
  for (const event of events) metrics.emit(event);
  return metrics.render().split("\n");
}

const refused: TelemetryEvent = {
  kind: "delivery.refused",
  connection: "stripe",
  code: "SIGNATURE_REFUSED",
  cause: "expired",
};

test("events are counted by their labels, under a name with help and type", () => {
  const lines = rendered(refused, refused, { ...refused, cause: null });
  expect(lines).toContain("# TYPE counterfoil_refusals_total counter");
  expect(lines).toContain('counterfoil_refusals_total{connection="stripe",code="SIGNATURE_REFUSED",cause="expired"} 2');
  expect(lines).toContain('counterfoil_refusals_total{connection="stripe",code="SIGNATURE_REFUSED",cause=""} 1');
});

test("times and group sizes fall into cumulative buckets", () => {
  const lines = rendered(
    { kind: "group.committed", members: 3, ms: 4 },
    { kind: "group.committed", members: 200, ms: 40_000 },
  );
  expect(lines).toContain('counterfoil_commit_seconds_bucket{le="0.0025"} 0');
  expect(lines).toContain('counterfoil_commit_seconds_bucket{le="0.005"} 1');
  expect(lines).toContain('counterfoil_commit_seconds_bucket{le="10"} 1');
  expect(lines).toContain('counterfoil_commit_seconds_bucket{le="+Inf"} 2');
  expect(lines).toContain("counterfoil_commit_seconds_sum 40.004");
  expect(lines).toContain('counterfoil_commit_members_bucket{le="4"} 1');
  expect(lines).toContain("counterfoil_commits_total 2");
});

test("a loop is failing until it recovers", () => {
  const failed: TelemetryEvent = { kind: "loop.failed", loop: "claim", code: "STORE_BUSY", summary: "" };
  expect(rendered(failed)).toContain('counterfoil_loop_failing{loop="claim"} 1');
  expect(rendered(failed, { kind: "loop.recovered", loop: "claim" })).toContain(
    'counterfoil_loop_failing{loop="claim"} 0',
  );
});

test("the store's gauges are added when they are given", () => {
  const text = new Metrics().render({
    receipts: { applied: 5, held: 1 },
    obligations: { stuck: 2 },
    pausedDestinations: [{}],
    pausedConnections: [{}, {}],
    oldestOwedAt: 10_000,
    due: [{ at: 65_000 }, { at: 40_000 }],
    running: 2,
    now: 70_000,
  });
  expect(text).toContain('counterfoil_receipts{outcome="held"} 1\n');
  expect(text).toContain('counterfoil_obligations{state="stuck"} 2\n');
  expect(text).toContain("counterfoil_oldest_owed_seconds 60\n");
  expect(text).toContain("counterfoil_paused_destinations 1\n");
  expect(text).toContain("counterfoil_oldest_due_seconds 30\n");
  expect(text).toContain("counterfoil_workers_running 2\n");
});

test("what takes room is told for the engine that has it", () => {
  const store = {
    receipts: {},
    obligations: {},
    pausedDestinations: [],
    pausedConnections: [],
    oldestOwedAt: null,
    due: [],
    running: 0,
    now: 70_000,
  };
  const keptBy = [
    { since: null, transactions: 9 },
    { since: 10_000, transactions: 7 },
    { since: 60_000, transactions: 1 },
  ];
  const server = new Metrics().render({ ...store, deadRows: { count: 5, keptBy } });
  expect(server).toContain("counterfoil_dead_rows 5\n");
  expect(server).toContain("counterfoil_snapshot_held_seconds 60\n");
  expect(server).toContain("counterfoil_snapshot_held_transactions 9\n");
  expect(server).not.toContain("counterfoil_log_bytes");
  const embedded = new Metrics().render({ ...store, log: { bytes: 4096, uncopiedBytes: 2048 } });
  expect(embedded).toContain("counterfoil_log_bytes 4096\n");
  expect(embedded).toContain("counterfoil_log_uncopied_bytes 2048\n");
  expect(embedded).not.toContain("counterfoil_dead_rows");
});

test("an unknown connection's name is not kept, and one metric keeps a bounded number of series", () => {
  expect(rendered({ ...refused, connection: "canary", code: "UNKNOWN_CONNECTION" }).join("\n")).not.toContain("canary");
  const many = Array.from({ length: 3_000 }, (_, index) => ({ ...refused, connection: `c${index}` }));
  const lines = rendered(...many).filter((line) => line.startsWith("counterfoil_refusals_total"));
  expect(lines.length).toBe(1_001);
  expect(lines.at(-1)).toBe('counterfoil_refusals_total{overflow="true"} 2000');
});

test("a label cannot break out of its quotes or its line", () => {
  const lines = rendered({ ...refused, connection: 'a"} 9\n\\\u0007' });
  expect(lines).toContain(
    String.raw`counterfoil_refusals_total{connection="a\"} 9\n\\?",code="SIGNATURE_REFUSED",cause="expired"} 1`,
  );
});
