/** What happens to processes, machine and providers. */
import { until } from "./activity.ts";
import type { Incident, StepOf } from "./steps.ts";
import type { World } from "./world.ts";

export async function happen(world: World, incident: Incident): Promise<void> {
  const { carriers, mischief, reference } = world;
  switch (incident.kind) {
    case "pass":
      return world.pass(incident.ms);
    case "rouse":
      return rouse(world, incident.first);
    case "spoil hook":
      mischief.hookFails = true;
      return;
    case "mend":
      mischief.hookFails = false;
      return reference.spoiled.clear();
    case "fault":
      carriers.next.POST.push(incident.fault);
      return;
    case "lookup fault":
      carriers.next.GET.push(incident.fault);
      return;
    case "release":
      return release(world);
    case "reboot":
      return world.reboot(incident.downMs);
    case "step wall":
      return world.machine.stepWall(incident.ms);
    case "suspend":
      return world.machine.suspend(incident.ms);
    default:
      incident satisfies never;
  }
}

/** A process that was stopped goes on, and meets first what its sockets or what its timers have for it. */
export async function rouse({ processes }: World, first: StepOf<"rouse">["first"]): Promise<void> {
  for (const process of processes.filter(({ asleep }) => asleep)) {
    process.asleep = false;
    if (first === "answers") {
      await process.launch();
      await process.hear();
    }
    await process.work();
  }
}

/** Requests that hung go on at their provider, whether or not anybody still waits for the answer. */
export async function release(world: World): Promise<void> {
  const { carriers, processes } = world;
  const waiting = processes.flatMap(({ flights }) => flights.filter(({ state }) => state === "flying"));
  carriers.release();
  await until(() => waiting.every(({ state }) => state !== "flying"), "a held request ends");
}
