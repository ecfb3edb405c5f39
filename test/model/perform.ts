/** Carries out one step of a plan. A step that does not fit the state of the world does nothing. */
import { doDeed } from "./deeds.ts";
import { happen } from "./incidents.ts";
import { observe } from "./observe.ts";
import type { Step } from "./steps.ts";
import type { World } from "./world.ts";

export async function perform(world: World, step: Step): Promise<void> {
  if ("process" in step) await doDeed(world.awake(step.process), world, step);
  else await happen(world, step);
  await world.activity.quiet();
  observe(world);
}
