/** Test events reach live addresses, rightly signed: they are known and acknowledged, and change nothing. */
import { connect } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { expect, test } from "vitest";
import { sampleDelivery } from "../../src/providers/sample-delivery.ts";
import { caseSecret, startCase } from "../support/case-server.ts";
import { dialect } from "../support/dialect.ts";

const seen = stripe.on("payment_intent.succeeded", async ({ event, tx }) => {
  await tx.sql`INSERT INTO seen VALUES (${event.connection}, ${event.id})`;
});

test("an event of the other mode is acknowledged and ignored; one that does not tell its mode is kept for the operator", async () => {
  const common = { provider: stripe, secrets: [caseSecret], tenant: "acme", handlers: [seen] };
  const server = await startCase({
    connections: [
      connect("live", { ...common, mode: "live" }),
      connect("test", { ...common, mode: "test" }),
      connect("any", common),
    ],
    tables: ["CREATE TABLE seen (connection TEXT, event TEXT)"],
  });
  const send = (connection: string, id: string, mode: object): Promise<object> => {
    const body = { ...mode, data: { object: { metadata: {} } } };
    const options = { secret: caseSecret, type: "payment_intent.succeeded", id, timestampMs: Date.now(), body };
    return server.post(sampleDelivery(stripe.rules, options), connection);
  };
  for (const connection of ["live", "test", "any"]) {
    for (const [id, mode] of [
      ["evt-live", { livemode: true }],
      ["evt-test", { livemode: false }],
      ["evt-none", {}],
    ] as const) {
      const untold = id === "evt-none" && connection !== "any";
      expect(await send(connection, id, mode)).toMatchObject({ status: untold ? 202 : 200, event: id });
    }
  }
  expect(await server.rows(`SELECT connection, event FROM seen ORDER BY ${dialect.insertionOrder}`)).toEqual([
    { connection: "live", event: "evt-live" },
    { connection: "test", event: "evt-test" },
    { connection: "any", event: "evt-live" },
    { connection: "any", event: "evt-test" },
    { connection: "any", event: "evt-none" },
  ]);
  const operator = server.app.operator({ who: "test" });
  const decided = async (outcome: "ignored" | "quarantined"): Promise<readonly string[]> =>
    (await operator.receipts({ outcome }))
      .map(({ connection, eventId, reason }) => `${connection} ${eventId}: ${reason}`)
      .toReversed();
  expect(await decided("ignored")).toEqual(["live evt-test: mode is test", "test evt-live: mode is live"]);
  expect(await decided("quarantined")).toEqual([
    "live evt-none: it does not tell its mode",
    "test evt-none: it does not tell its mode",
  ]);
  expect(await operator.attention()).toHaveLength(2);
  expect(await server.owed()).toEqual([]);
  expect(server.events.filter(({ kind }) => kind === "handler.failed" || kind === "delivery.failed")).toEqual([]);
});

test("what becomes of an event that does not tell its mode is a setting", async () => {
  const common = { provider: stripe, secrets: [caseSecret], tenant: "acme", handlers: [seen], mode: "live" } as const;
  const server = await startCase({
    connections: [
      connect("ignores", { ...common, missingMode: "ignore" }),
      connect("accepts", { ...common, missingMode: "accept" }),
    ],
    tables: ["CREATE TABLE seen (connection TEXT, event TEXT)"],
  });
  for (const connection of ["ignores", "accepts"]) {
    for (const [id, mode] of [
      ["evt-none", {}],
      ["evt-other", { livemode: "yes" }],
      ["evt-test", { livemode: false }],
    ] as const) {
      const body = { ...mode, data: { object: { metadata: {} } } };
      const options = { secret: caseSecret, type: "payment_intent.succeeded", id, timestampMs: Date.now(), body };
      const delivery = sampleDelivery(stripe.rules, options);
      expect(await server.post(delivery, connection)).toMatchObject({ status: 200, event: id });
    }
  }
  const taken = await server.rows(`SELECT connection, event FROM seen ORDER BY ${dialect.insertionOrder}`);
  expect(taken).toEqual(["evt-none", "evt-other"].map((event) => ({ connection: "accepts", event })));
  const ignored = await server.app.operator({ who: "test" }).receipts({ outcome: "ignored" });
  expect(ignored.map(({ connection, eventId, reason }) => `${connection} ${eventId}: ${reason}`).toReversed()).toEqual([
    "ignores evt-none: it does not tell its mode",
    "ignores evt-other: it does not tell its mode",
    "ignores evt-test: mode is test",
    "accepts evt-test: mode is test",
  ]);
});

test.each([
  [{ missingMode: "drop", mode: "live" }, "missingMode is one of quarantine, ignore, accept"],
  [{ missingMode: "ignore" }, "missingMode is for a connection that takes one mode only; set mode too"],
])("the setting %j is refused, with what to write", async (given, says) => {
  const options = { provider: stripe, secrets: [caseSecret], tenant: "acme", handlers: [seen], ...given };
  await expect(startCase({ connections: [connect("live", options as never)] })).rejects.toThrow(says);
});
