/** Senders that put many events into one request: each item has a receipt, an outcome and an answer of its own. */
import { gzipSync } from "node:zlib";
import { connect } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";
import { expect, test } from "vitest";
import { item, bundled, signedBatch } from "../support/case-delivery.ts";
import {
  caseSecret,
  type CaseOptions,
  type CaseServer,
  sender,
  signedBytes,
  startCase,
} from "../support/case-server.ts";
import { deliver } from "./deliver.ts";

function start({ failing = "hold", ...options }: CaseOptions & { readonly failing?: "hold" | "refuse" } = {}) {
  const changed = bundled.on("changed", ({ event, tx }) =>
    tx.sql`INSERT INTO applied (event) VALUES (${event.id})`.then(),
  );
  const broken = bundled.on("broken", () => {
    throw new Error("its handler is broken");
  });
  return startCase({
    tables: ["CREATE TABLE IF NOT EXISTS applied (event TEXT)"],
    connections: [
      connect("bundled", {
        provider: bundled,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [changed, broken],
        failing,
      }),
      connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [] }),
    ],
    ...options,
  });
}

interface ToldItems {
  readonly status: number;
  readonly items?: readonly { readonly status: number; readonly event?: string; readonly outcome?: string }[];
}

function post(server: CaseServer, delivery: SignedDelivery): Promise<ToldItems> {
  return server.post(delivery, "bundled");
}

async function applied(server: CaseServer): Promise<readonly string[]> {
  return (await server.rows("SELECT event FROM applied")).map((row) => (row as { event: string }).event).sort();
}

test("each item is an event of its own, and a copy of the batch is a duplicate of each", async () => {
  const server = await start();
  const batch = signedBatch([
    item("evt-1", { n: 1 }),
    item("evt-2"),
    item("evt-1", { n: 1 }),
    item("evt-3", {}, { type: "new" }),
  ]);
  expect(await post(server, batch)).toEqual({
    status: 200,
    items: [
      { status: 200, outcome: "applied", event: "evt-1" },
      { status: 200, outcome: "applied", event: "evt-2" },
      { status: 200, outcome: "duplicate", first: "applied", event: "evt-1" },
      { status: 200, outcome: "ignored", event: "evt-3" },
    ],
  });
  const copy = await post(server, { ...batch, ...signedBytes(gzipSync(batch.body), { "content-encoding": "gzip" }) });
  expect(copy.items).toMatchObject(
    ["evt-1", "evt-2", "evt-1", "evt-3"].map((event) => ({ outcome: "duplicate", event })),
  );
  expect(await applied(server)).toEqual(["evt-1", "evt-2"]);
  // The bytes kept are the item's own, as they stood in the batch.
  const [receipt] = await server.app.runtime.store.reader.receipts({ eventId: "evt-1" }, { limit: 1 });
  const { bytes } = await server.app.operator({ who: "ada" }).payload(receipt!.id);
  expect(Buffer.from(bytes).toString()).toBe(JSON.stringify(item("evt-1", { n: 1 })));
});

test("a bad item hurts no other: what is stored is 2xx, and only what is not makes the whole an error", async () => {
  const server = await start();
  const unreadable = signedBytes(
    `{"events":[${JSON.stringify(item("evt-1"))},{"id":"evt-2","type":"changed","data":1e400}]}`,
  );
  const stored = await post(server, unreadable);
  expect(stored).toMatchObject({
    status: 202,
    items: [
      { status: 200, outcome: "applied" },
      { status: 202, outcome: "quarantined" },
    ],
  });
  const held = await post(server, signedBatch([item("evt-3", {}, { type: "broken" }), item("evt-4")]));
  expect(held).toMatchObject({ status: 202, items: [{ outcome: "held" }, { outcome: "applied" }] });
  const nameless = await post(server, signedBatch([{}, item("evt-5"), null, "x", []]));
  expect(nameless).toEqual({
    status: 400,
    items: [
      { status: 400, error: "NO_EVENT_ID" },
      { status: 200, outcome: "applied", event: "evt-5" },
      ...Array.from({ length: 3 }, () => ({ status: 400, error: "NO_EVENT_ID" })),
    ],
  });
  expect(await applied(server)).toEqual(["evt-1", "evt-4", "evt-5"]);
});

test("a handler that fails under refuse leaves its item to the sender's next try, in which the others are duplicates", async () => {
  const server = await start({ failing: "refuse" });
  const batch = signedBatch([item("evt-1"), item("evt-2", {}, { type: "broken" })]);
  for (const outcome of ["applied", "duplicate"]) {
    expect(await post(server, batch)).toMatchObject({
      status: 500,
      items: [
        { status: 200, outcome },
        { status: 500, error: "HANDLER_FAILED" },
      ],
    });
  }
  expect(await server.outcomes()).toEqual(["evt-1 applied"]);
});

test("a batch that is none is kept whole for the operator, and one without items is acknowledged", async () => {
  const server = await start();
  for (const body of ['{"events":{}}', '{"event":[]}', "{", '{"events":[1],"events":[2]}']) {
    expect(await post(server, signedBytes(body))).toMatchObject({ status: 202, outcome: "quarantined" });
  }
  expect(await server.outcomes()).toHaveLength(4);
  expect(await post(server, signedBatch([]))).toEqual({ status: 200, items: [] });
  expect(await post(server, { ...signedBatch([item("evt-1")]), body: Buffer.from('{"events":[]}') })).toMatchObject({
    status: 401,
  });
  expect(await server.outcomes()).toHaveLength(4);
});

test("a batch of hundreds goes through several commits, also through app.fetch and the library; too many are 413", async () => {
  const server = await start({ limits: { batchMax: 300, groupMax: 32, waitingMax: 40 } });
  const items = Array.from({ length: 300 }, (_, index) => item(`evt-${index}`));
  const batch = signedBatch(items);
  const first = await deliver(server.app, batch, "bundled");
  expect(first.status).toBe(200);
  expect(first.body["items"]).toEqual(
    items.map((_, index) => ({ status: 200, outcome: "applied", event: `evt-${index}` })),
  );
  const commits = server.events.filter(({ kind }) => kind === "group.committed");
  expect(commits.length).toBeGreaterThan(8);
  const again = await server.app.receiveBatch("bundled", batch);
  expect(again.every((one) => one.kind === "received" && one.received.duplicate)).toBe(true);
  expect(await applied(server)).toHaveLength(300);
  expect(await post(server, signedBatch([...items, item("more")]))).toEqual({ status: 413, error: "BODY_TOO_LARGE" });
});

test("one event of the library's is not a batch, and the other way round one is a batch of one", async () => {
  const server = await start();
  await expect(server.app.receive("bundled", signedBatch([item("evt-1")]))).rejects.toMatchObject({
    code: "NOT_ALLOWED",
  });
  const results = await server.app.receiveBatch("bundled", signedBatch([item("evt-1", {}, { type: "broken" }), {}]));
  expect(results).toMatchObject([
    { kind: "refused", error: { code: "HANDLER_FAILED" } },
    { kind: "refused", error: { code: "NO_EVENT_ID" } },
  ]);
  expect(await server.app.receiveBatch("sender", signedBytes('{"id":"evt-2","type":"x"}'))).toMatchObject([
    { kind: "received", received: { eventId: "evt-2", outcome: "ignored" } },
  ]);
  expect(await server.outcomes()).toEqual(["evt-2 ignored"]);
});

test("a store that is stopped in the middle takes no more, and what was not stored is asked for again", async () => {
  const server = await start({ limits: { groupMax: 1 } });
  const items = Array.from({ length: 5 }, (_, index) => item(`evt-${index}`));
  let commits = 0;
  server.app.subscribe(({ kind }) => {
    if (kind === "group.committed" && ++commits === 2) void server.app.runtime.store.close();
  });
  const answer = await deliver(server.app, signedBatch(items), "bundled");
  expect([answer.status, answer.retryAfter]).toEqual([503, "2"]);
  const told = answer.body["items"] as readonly { readonly status: number }[];
  expect(told.map(({ status }) => status)).toEqual([200, 200, 503, 503, 503]);
});
