/**
 * Owes, claims and settles in turn through the store that workers use, and times the claims: the look
 * at the lanes and the claim itself, without the commit, which waits for the disk and not for the tables.
 *
 * `node claims.ts <database's address> [--history N] [--pinned] --warm-up-ms M --window-ms M` prints
 * `ready` once the history stands, then one line of JSON with perSecond, p50Ms and p99Ms.
 */
import { parseArgs } from "node:util";
import { type App, defaults, defineApp, effect, type } from "counterfoil";
import { Client } from "pg";
import type { Claim, Move } from "../src/store/store.ts";
import { transact } from "../src/work/transact.ts";
import type { DrainResult } from "./kit/drain-meter.ts";
import { fillHistory } from "./kit/history.ts";
import { storeAt } from "./kit/place.ts";
import { percentile } from "./kit/statistics.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    history: { type: "string", default: "0" },
    /** Another connection holds a snapshot from the start of the warm-up to the end. */
    pinned: { type: "boolean", default: false },
    "warm-up-ms": { type: "string", default: "2000" },
    "window-ms": { type: "string", default: "10000" },
  },
});
const [place] = positionals;
if (place === undefined) throw new TypeError("Cannot start: give the database's address");

/** As many as one transaction may owe. */
const batchSize = defaults.obligationsPerEvent;
const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: ({ input, key }) => ({
    method: "POST",
    url: "https://carrier.example/v1/shipments",
    json: { ...input, ref: key },
  }),
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
});
const app: App = defineApp({ store: storeAt(place), connections: [], effects: [ship], migrate: true });
await app.open();
let owed = 0;

// One batch is carried out, so that there is something to be copied.
await oweBatch();
await turn((await turn([])).claims);
if (Number(values.history) > 0) await fillHistory(place, Number(values.history));
process.stdout.write("ready\n");

const pin = new Client(place);
await pin.connect();
// The first statement takes the snapshot.
if (values.pinned) await pin.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
const windowStart = performance.now() + Number(values["warm-up-ms"]);
const windowEnd = windowStart + Number(values["window-ms"]);
const timesMs: number[] = [];
let claimed = 0;
let held: readonly Claim[] = [];
while (performance.now() < windowEnd) {
  await oweBatch();
  const { claims, tookMs } = await turn(held);
  held = claims;
  if (performance.now() < windowStart) continue;
  timesMs.push(tookMs);
  claimed += claims.length;
}
await pin.end();
await app.stop();
const sorted = Float64Array.from(timesMs).toSorted();
const result: DrainResult = {
  perSecond: claimed / ((windowEnd - windowStart) / 1000),
  p50Ms: percentile(sorted, 0.5),
  p99Ms: percentile(sorted, 0.99),
};
process.stdout.write(`${JSON.stringify(result)}\n`);

async function oweBatch(): Promise<void> {
  await app.transaction({ tenant: "acme" }, async ({ owe }) => {
    for (let index = 0; index < batchSize; index++) {
      owed += 1;
      await owe(ship, { key: [`order-${owed}`, "fulfil", "v1"], input: { order: `order-${owed}` } });
    }
  });
}

/** As a worker does: one transaction writes the ends of what was held and claims what is due. */
function turn(ended: readonly Claim[]): Promise<{ readonly claims: readonly Claim[]; readonly tookMs: number }> {
  return transact(app.runtime, async (tx) => {
    const moved = ended.length > 0 ? await tx.move(ended.map(done)) : [];
    if (moved.includes(false)) throw new Error("Cannot measure: a lease was lost, so that its end was not written");
    const start = performance.now();
    const due = await tx.dueLanes();
    const lanes = due.map((lane) => ({ ...lane, limit: batchSize }));
    const claims = await tx.claim({ lanes, worker: "bench", leaseMs: app.runtime.limits.leaseMs });
    return { claims, tookMs: performance.now() - start };
  });
}

function done({ obligation, fence }: Claim): Move {
  const answer = { status: 200, body: new Uint8Array(), truncated: false };
  return {
    obligationId: obligation.id,
    fence,
    to: { ...obligation, state: "done", reached: "yes", dueAt: null, reason: null },
    attempt: { verdict: "done", phase: "complete", status: 200, cause: null, answer },
    keepLease: false,
    raiseFence: false,
  };
}
