/** A sender is answered in time whatever its handler does, and so are those that share its commit. */
import { connect, defineApp, type HandlerContext } from "counterfoil";
import { generic, signDelivery } from "counterfoil/providers";
import { expect, onTestFinished, test } from "vitest";
import { Inbox } from "../../src/inbox/inbox.ts";
import { headersFromFetch } from "../../src/verify/delivery-headers.ts";
import { caseSecret } from "../support/case-delivery.ts";
import { storeAt } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";

/** A handler has what this sender's patience leaves: 1 s, although it could have half an hour. */
const sender = generic({
  name: "sender",
  signature: { kind: "hmac", header: "x-signature" },
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
  retries: true,
  ackMs: 241_500,
});
const limits = { queueMs: 120_000, lockMs: 60_000, groupMs: 60_000, handlerMs: 1_800_000 };

test.each<[string, (context: HandlerContext) => Promise<unknown>]>([
  ["one statement that takes half an hour", ({ tx }) => tx.sql`SELECT pg_sleep(1800)`],
  [
    "statements without end",
    async ({ tx }) => {
      for (;;) await tx.sql`SELECT pg_sleep(0.1)`;
    },
  ],
  ["a wait for something else", () => new Promise(() => undefined)],
])(
  "a handler of %s is held within its sender's patience, and the others of its group are applied",
  async (_, handle) => {
    const { address } = await ownDatabase();
    const changed = sender.on("changed", async (context) => {
      await context.tx.sql`INSERT INTO notes VALUES (${context.event.id})`;
      if (context.event.id === "slow") await handle(context);
    });
    const app = defineApp({
      store: storeAt(address),
      connections: [
        connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] }),
      ],
      effects: [],
      limits,
    });
    await app.open();
    onTestFinished(() => app.stop());
    await rows(app, "CREATE TABLE notes (id TEXT PRIMARY KEY)");
    const inbox = new Inbox(app, () => app.open());
    const outcomes = ["a", "slow", "b"].map(async (id) => {
      const event = Buffer.from(JSON.stringify({ id, type: "changed" }));
      const { headers, body } = signDelivery(sender.rules, caseSecret, { body: event, timestampMs: 0 });
      const delivery = { headers: headersFromFetch(new Headers(headers)), body, arrivedAtMs: 0 };
      const delivered = await inbox.deliver(app.connections.get("sender")!, delivery, () => undefined);
      return delivered.kind === "event" ? delivered.received.outcome : "a batch";
    });
    expect(await Promise.all(outcomes)).toEqual(["applied", "held", "applied"]);
    expect(await rows(app, "SELECT id FROM notes ORDER BY id")).toEqual([{ id: "a" }, { id: "b" }]);
  },
);
