import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import type { TelemetryEvent } from "../domain/telemetry.ts";
import { isJsonLogger, jsonLogger, type JsonLoggerOptions } from "./logger.ts";

function logged(
  events: readonly TelemetryEvent[],
  options: JsonLoggerOptions = {},
): readonly Record<string, unknown>[] {
  const lines: string[] = [];
  const emit = jsonLogger({ ...options, destination: { write: (line) => void lines.push(line) } });
  for (const event of events) emit(event);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const decided: TelemetryEvent = {
  kind: "event.decided",
  connection: "stripe",
  account: "",
  eventId: "evt_1",
  outcome: "held",
  by: "retry",
};

test("an event becomes one JSON line with its level, its time in ISO 8601 and its listed fields", () => {
  expect(logged([decided])).toEqual([
    {
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      kind: "event.decided",
      connection: "stripe",
      account: "",
      eventId: "evt_1",
      outcome: "held",
      by: "retry",
    },
  ]);
});

test("a field that is not listed does not get into the log, at any level", () => {
  const leaky = { ...decided, payload: "canary", headers: { "x-signature": "canary" } };
  expect(JSON.stringify(logged([leaky], { level: "trace" }))).not.toContain("canary");
});

test("a level below the wanted one is not written", () => {
  const committed: TelemetryEvent = { kind: "group.committed", members: 3, ms: 2 };
  expect(logged([committed])).toEqual([]);
  expect(logged([committed], { level: "debug" })).toHaveLength(1);
});

test("a text that a sender chose cannot end the line or fill the log", () => {
  const [line] = logged([{ ...decided, eventId: `a\n{"level":"fatal"}${"x".repeat(10_000)}` }]);
  expect(String(line?.["eventId"]).length).toBeLessThan(600);
  expect(line?.["level"]).toBe("info");
});

test("lines go to standard error unless told otherwise: standard output is what programs read", () => {
  const logger = new URL("logger.ts", import.meta.url).href;
  const script = `import { jsonLogger } from "${logger}"; jsonLogger()(${JSON.stringify(decided)});`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect([stdout, JSON.parse(stderr)]).toEqual(["", expect.objectContaining({ kind: "event.decided" })]);
}, 90_000);

test("a logger is known as one, and nothing else is", () => {
  expect([isJsonLogger(jsonLogger({ level: "silent" })), isJsonLogger(() => undefined)]).toEqual([true, false]);
});
