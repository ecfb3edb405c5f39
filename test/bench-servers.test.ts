import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startChild, type Child } from "../bench/kit/child.ts";
import { closedLoop } from "../bench/kit/closed-loop.ts";
import { dataFolder } from "../bench/kit/data-folder.ts";
import { stripeRequests, type StripeRequests } from "../bench/kit/stripe-requests.ts";

/** Who races has to keep what it acknowledges, or the race is unfair. */

const secret = "whsec_of_this_test";
const servers = [
  { name: "hand-written", receiptIds: "SELECT id FROM receipts", owed: "SELECT count(*) FROM obligations" },
  {
    name: "counterfoil",
    receiptIds: "SELECT event_id FROM counterfoil_receipts",
    owed: "SELECT count(*) FROM counterfoil_obligations",
  },
];
const paid = "SELECT count(*) FROM orders WHERE status = 'paid'";

let folder: ReturnType<typeof dataFolder>;
let server: Child;
let port: number;

async function start(name: string): Promise<void> {
  folder = dataFolder();
  server = startChild(`servers/${name}.ts`, { args: [folder.path], env: { STRIPE_SECRET: secret } });
  port = Number((await server.line(/^listening (\d+)$/, { timeoutMs: 50_000 }))[1]);
}

afterEach(async () => {
  await server.end();
  folder[Symbol.dispose]();
});

function column(sql: string): unknown[] {
  using database = new DatabaseSync(join(folder.path, "bench.db"));
  return database
    .prepare(sql)
    .all()
    .map((row) => Object.values(row)[0]);
}

async function sendCopies(requests: StripeRequests, copies: number): Promise<number[]> {
  const statuses: number[] = [];
  let left = copies;
  await closedLoop({
    port,
    connections: copies,
    next: () => (left-- > 0 ? { index: 0, bytes: requests.bytes(0) } : undefined),
    onAnswer: ({ status }) => statuses.push(status),
  });
  return statuses;
}

describe.each(servers)("the $name receiver", ({ name, receiptIds, owed }) => {
  beforeEach(() => start(name));

  test("keeps one receipt and one obligation of 50 copies that arrive at once", async () => {
    const requests = stripeRequests({ count: 1, secret });
    const statuses = await sendCopies(requests, 50);
    expect(statuses).toEqual(Array.from({ length: 50 }, () => 200));
    expect(column(receiptIds)).toEqual([requests.id(0)]);
    expect(column(owed)).toEqual([1]);
    expect(column(paid)).toEqual([1]);
  });

  test("stores nothing of a delivery that is signed with another secret", async () => {
    const forged = stripeRequests({ count: 1, secret: "whsec_of_somebody_else" });
    expect(await sendCopies(forged, 1)).toEqual([401]);
    expect(column(receiptIds)).toEqual([]);
  });

  test("has every event that it acknowledged before it was killed under load", async () => {
    const requests = stripeRequests({ count: 5_000, secret });
    const acknowledged: string[] = [];
    let sent = 0;
    const load = closedLoop({
      port,
      connections: 16,
      next: () => ({ index: sent, bytes: requests.bytes(sent++) }),
      onAnswer({ index, status }) {
        if (status === 200) acknowledged.push(requests.id(index));
        if (acknowledged.length === 300) void server.kill();
      },
    });
    await expect(load).rejects.toThrow();
    expect(acknowledged.length).toBeGreaterThanOrEqual(300);

    const receipts = new Set(column(receiptIds));
    expect(acknowledged.filter((id) => !receipts.has(id))).toEqual([]);
    expect(column(owed)).toEqual([receipts.size]);
    expect(column(paid)).toEqual([receipts.size]);
  });
});
