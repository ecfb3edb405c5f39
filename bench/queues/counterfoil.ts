/**
 * Counterfoil's whole outbox, on either store: the claim and the start of each
 * attempt are committed before its call, the end is settled under its fence. Only the call costs
 * nothing: it is answered 200 at once. The effect allows as many calls as the worker may run at all.
 */
import { defaults, defineApp, effect, type, type TelemetryEvent } from "counterfoil";
import type { Call } from "../../src/outbox/attempt.ts";
import { Worker } from "../../src/worker/worker.ts";
import { drainMeter, queueArguments } from "../kit/drain-meter.ts";
import { isAddress, storeAt } from "../kit/place.ts";
import { run } from "../kit/postgres.ts";

const { place, jobs } = queueArguments();
const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: ({ input, key }) => ({
    method: "POST",
    url: "https://carrier.example/v1/shipments",
    json: { ...input, ref: key },
  }),
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
  concurrency: defaults.callsMax,
});
const app = defineApp({ store: storeAt(place), connections: [], effects: [ship], migrate: true });
await app.open();
for (let from = 0; from < jobs; from += defaults.obligationsPerEvent) {
  await app.transaction({ tenant: "acme" }, async ({ owe }) => {
    for (let index = from; index < Math.min(jobs, from + defaults.obligationsPerEvent); index++) {
      await owe(ship, { key: [`order-${index}`, "fulfil", "v1"], input: { order: `order-${index}` } });
    }
  });
}

if (isAddress(place)) await run(place, "VACUUM ANALYZE");

const answer: Awaited<ReturnType<Call>> = {
  kind: "answered",
  reached: "yes",
  phase: "complete",
  status: 200,
  headers: {},
  body: new Uint8Array(),
  truncated: false,
};
const worker = new Worker(app.runtime, { call: async () => answer });
const meter = drainMeter(jobs);
const drained = Promise.withResolvers<void>();

// A turn tells what it settled, then what it claimed. Its transaction began when the turn before had told.
const claimedAt = new Map<number, number>();
let turnStart = performance.now();
let lastTold = turnStart;
let hasClaimed = false;
app.subscribe((event: TelemetryEvent) => {
  if (event.kind === "attempt.ended") {
    if (hasClaimed) turnStart = lastTold;
    hasClaimed = false;
    if (event.state === "done") meter.done(1, claimedAt.get(event.obligationId));
    if (meter.isDrained()) drained.resolve();
  } else if (event.kind === "attempt.started") {
    hasClaimed = true;
    lastTold = performance.now();
    claimedAt.set(event.obligationId, turnStart);
  }
});
meter.start();
worker.start();
await drained.promise;
await worker.stop();
await app.stop();
meter.print();
