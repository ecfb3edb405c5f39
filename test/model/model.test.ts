/**
 * Random interleavings of everything at once, on a real database and real HTTP, against a reference that knows
 * nothing of the product. All time is virtual; `COUNTERFOIL_MODEL_RUNS` and `COUNTERFOIL_MODEL_SEED` choose
 * how many runs, and which.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { engine } from "../support/engine.ts";
import { checkInvariants } from "./invariants.ts";
import { perform } from "./perform.ts";
import { settleDown } from "./settle-down.ts";
import { type Plan, plans } from "./steps.ts";
import { noCounts, type RareCounts, Telemetry } from "./telemetry.ts";
import { World } from "./world.ts";

/** A server's round trips take their time: there the gate lives fewer plans, which come by fewer of the rare paths. */
const runs = Number(process.env["COUNTERFOIL_MODEL_RUNS"] ?? (engine === "sqlite" ? 50 : 10));
/** Fewer runs than these may miss a rare path by chance. */
const runsOfAllPaths = 40;
const seed = Number(process.env["COUNTERFOIL_MODEL_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

/** A failing plan is made smaller for this long. */
const shrinkMs = 2 * 60_000;

async function live({ chance, steps }: Plan, counts: RareCounts): Promise<void> {
  await using world = await World.start({ chance, telemetry: new Telemetry(counts) });
  for (const step of steps) {
    const { signs } = world.activity;
    await perform(world, step);
    if (world.activity.signs > signs) await checkInvariants(world);
  }
  await settleDown(world);
}

/** Lives a plan; says at once that one failed, and ends the search for a smaller one in time. */
function patiently(counts: RareCounts): (plan: Plan) => Promise<void> {
  let failedAtMs: number | undefined;
  return async (plan) => {
    if (failedAtMs !== undefined && performance.now() - failedAtMs > shrinkMs) return;
    try {
      await live(plan, counts);
    } catch (error) {
      if (failedAtMs === undefined) console.error(`model: seed ${seed} fails; making it smaller`, error);
      failedAtMs ??= performance.now();
      throw error;
    }
  };
}

test("whatever happens in whatever order, the promises hold", { timeout: 30 * 60_000 }, async () => {
  const counts = noCounts();
  await fc.assert(fc.asyncProperty(plans, patiently(counts)), { numRuns: runs, seed });
  console.log(`model: ${runs} runs, seed ${seed}`, counts);
  for (const [path, count] of Object.entries(runs < runsOfAllPaths ? {} : counts)) {
    expect(
      count,
      `"${path}" did not happen in ${runs} runs of seed ${seed}: more runs, or better steps`,
    ).toBeGreaterThan(0);
  }
});
