/**
 * `@supabase/stripe-sync-engine` as its documentation mounts it: it verifies the delivery and writes the
 * payment that it carries into a table of its own, by one statement. No receipt, no change of an order,
 * nothing owed; and no question to Stripe, since a payment that has succeeded changes no more.
 */
import { createRequire } from "node:module";
import type * as SyncEngine from "@supabase/stripe-sync-engine";
import Fastify from "fastify";
import { announceListening } from "../../kit/child.ts";
import { connectionsMax } from "../../kit/written-by-hand.ts";

// Its build for `import` does not find its own migrations, and says nothing of it.
const { runMigrations, StripeSync } = createRequire(import.meta.url)(
  "@supabase/stripe-sync-engine",
) as typeof SyncEngine;

const databaseUrl = process.argv[2];
const stripeWebhookSecret = process.env["STRIPE_SECRET"];
if (databaseUrl === undefined || stripeWebhookSecret === undefined) {
  throw new TypeError("Cannot start: give the database's address as argument and STRIPE_SECRET");
}
await runMigrations({ databaseUrl, schema: "stripe" });
const sync = new StripeSync({
  stripeWebhookSecret,
  stripeSecretKey: "sk_test_of_the_bench_only",
  schema: "stripe",
  backfillRelatedEntities: false,
  poolConfig: { connectionString: databaseUrl, max: connectionsMax },
});

const server = Fastify({ logger: false });
server.removeAllContentTypeParsers();
server.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => {
  done(null, body);
});
server.post("/hooks/stripe", (request) =>
  sync
    .processWebhook(request.body as Buffer, String(request.headers["stripe-signature"]))
    .then(() => ({ received: true })),
);
announceListening(await server.listen({ host: "127.0.0.1", port: 0 }));
