import { connect, defineApp, effect, type } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { expect, test } from "vitest";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { storeAt, temporaryDatabase } from "../support/engine.ts";
import { openApp, payment, secret } from "../support/order-app.ts";
import { deliver } from "./deliver.ts";

test("a request embeds the row as its own transaction leaves it, and every later change owes its own", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const carrier = stack.use(await startFakeProvider());
  const notify = effect("notify/v1", {
    input: type<{ plan: string; revision: number }>(),
    request: ({ input, key }) => ({ method: "POST", url: `${carrier.url}/v1/shipments`, json: { ...input, ref: key } }),
    idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
    allow: [carrier.url],
  });
  const changed = stripe.on("payment_intent.succeeded", async ({ event, tx, owe }) => {
    const { plan = "" } = event.data.object.metadata;
    const [row] = await tx.sql<{ plan: string; revision: number }>`
      UPDATE subscriptions SET plan = ${plan}, revision = revision + 1 WHERE id = 's-1' RETURNING plan, revision`;
    if (row === undefined) throw new Error("there is no subscription s-1");
    await owe(notify, { key: ["s-1", "notify", `r${row.revision}`], input: row });
  });
  const { app } = stack.use(
    await openApp(
      defineApp({
        store: storeAt(address),
        connections: [connect("stripe", { provider: stripe, secrets: [secret], tenant: "acme", handlers: [changed] })],
        effects: [notify],
      }),
    ),
  );
  await app.transaction({ tenant: "acme" }, async ({ tx }) => {
    await tx.sql`CREATE TABLE subscriptions (id TEXT PRIMARY KEY, plan TEXT NOT NULL, revision INTEGER NOT NULL)`;
    await tx.sql`INSERT INTO subscriptions VALUES ('s-1', 'none', 0)`;
  });
  // Both changes are committed before anything is sent.
  const answers = [
    await deliver(app, payment("evt-1", "", { plan: "basic" })),
    await deliver(app, payment("evt-2", "", { plan: "pro" })),
  ];
  expect(answers.map(({ body }) => body["outcome"])).toEqual(["applied", "applied"]);
  await app.drain();
  const sent = carrier.requests.map(({ body }): unknown => JSON.parse(body));
  expect(sent).toHaveLength(2);
  expect(sent).toContainEqual({ plan: "basic", revision: 1, ref: "acme/s-1/notify/r1" });
  expect(sent).toContainEqual({ plan: "pro", revision: 2, ref: "acme/s-1/notify/r2" });
});
