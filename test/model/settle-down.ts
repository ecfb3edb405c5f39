/** The end of a run: nothing goes wrong any more, time goes on, and everything must come to an end or before an operator, who then ends it. */
import { expect } from "vitest";
import type { Attention } from "../../src/store/reader.ts";
import { expectNoPayload } from "./expect-no-payload.ts";
import { release } from "./incidents.ts";
import { checkInvariants } from "./invariants.ts";
import { closedStates, refOf } from "./obligations.ts";
import { observe } from "./observe.ts";
import { act, decideOn } from "./operate.ts";
import { finalOutcomes, keyOf, snapshotKey } from "./reference.ts";
import type { World } from "./world.ts";

const minute = 60_000;
/** Longer than any backoff, deadline, key or step of the wall clock in a plan. */
const patience = [...Array<number>(4).fill(15_000), ...Array<number>(30).fill(10 * minute)];
const everything = { limit: 500 };

export async function settleDown(world: World): Promise<void> {
  await mend(world);
  await untilSeen(world);
  // An operator knows the truth, and says it; some things come back, such as a hook's next obligation, or the next of a line.
  for (let round = 0; round < 10; round += 1) {
    const attention = await world.reader.attention(everything);
    if (attention.length === 0) break;
    for (const item of attention) await clear(world, item);
    await untilSeen(world);
  }
  expect(await world.reader.attention(everything), "what operators could not end").toEqual([]);
  await checkEnds(world);
}

async function mend(world: World): Promise<void> {
  const { carriers, mischief, processes, reference } = world;
  carriers.mend();
  mischief.hookFails = false;
  reference.spoiled.clear();
  await release(world);
  for (const process of processes) process.asleep = false;
  for (const process of processes) await process.work();
}

/** Lets time pass until whatever is open is on the operator's list. */
async function untilSeen(world: World): Promise<void> {
  for (const ms of patience) {
    observe(world);
    await checkInvariants(world);
    if ((await unseen(world)).length === 0) return;
    await world.pass(ms);
  }
  expect(await unseen(world), "open, and not on the operator's list").toEqual([]);
}

async function unseen({ reader, reference }: World): Promise<readonly string[]> {
  const attention = await reader.attention(everything);
  const listed = new Set(
    attention.map((item) => {
      if (item.kind === "destination") return item.destination;
      if (item.kind === "connection") return item.connection;
      if (item.kind === "refresh") return item.refresh.id;
      if (item.kind === "resource") return item.resource;
      return item.kind === "effect" ? item.effect : `${item.kind} ${idOf(item)}`;
    }),
  );
  const receipts = (await reader.receipts({}, everything)).flatMap(({ id, eventId, outcome, ...key }) => {
    const known = reference.receipts.get(keyOf(key, eventId));
    const isBehind = outcome === "queued" && known !== undefined && reference.inFront(known) !== undefined;
    return (finalOutcomes as readonly string[]).includes(outcome) || listed.has(`receipt ${id}`) || isBehind
      ? []
      : [`${eventId} is ${outcome}`];
  });
  const obligations = (await reader.obligations({}, everything)).flatMap(({ id, operationKey, state, destination }) =>
    closedStates.includes(state) || listed.has(`obligation ${id}`) || listed.has(destination)
      ? []
      : [`${operationKey} is ${state}`],
  );
  return [...receipts, ...obligations];
}

function idOf(item: Extract<Attention, { readonly kind: "receipt" | "obligation" }>): number {
  return item.kind === "receipt" ? item.receipt.id : item.obligation.id;
}

async function clear(world: World, item: Attention): Promise<void> {
  const process = world.processes[0]!;
  switch (item.kind) {
    case "destination":
      await process.app.operator({ who: "ada" }).resume({ destination: item.destination });
      return;
    case "connection":
      await process.app.operator({ who: "ada" }).resume({ connection: item.connection });
      return;
    case "receipt":
      if (item.mismatches > 0) await decideOn(process, world, { receipt: item.receipt, verb: "acknowledge" });
      else await decideOn(process, world, { receipt: item.receipt, verb: "keep" });
      return;
    case "obligation": {
      const { obligation } = item;
      const [id] = world.carriers.effects(refOf(obligation));
      const verb = id === undefined && obligation.state !== "settling" ? "renew" : "done";
      await act(process, world, { obligation, verb, ...(id !== undefined && { id }) });
      return;
    }
    case "refresh":
    case "resource":
      throw new Error("Cannot go on: no resource of the model is asked for at its source");
    case "effect":
      throw new Error(`Cannot go on: every worker takes ${item.effect}, and none did`);
    default:
      throw new Error(`Bug: nobody can end ${JSON.stringify(item satisfies never)}`);
  }
}

async function checkEnds({ reader, reference, carriers, provider, processes, telemetry }: World): Promise<void> {
  expect(
    processes.flatMap(({ flights }) => flights),
    "calls under way",
  ).toEqual([]);
  for (const { tenant, operationKey, state, effect } of await reader.obligations({}, everything)) {
    const ref = `${tenant}/${operationKey}`;
    const { said, forced } = provider.operation(ref);
    if (state !== "done" || said || forced > 0) continue;
    expect(carriers.effects(ref).length, `effects of ${ref} by ${effect}`).toBe(1);
  }
  for (const { id, ...receipt } of await reader.receipts({}, everything)) {
    const known = reference.receipts.get(keyOf(receipt, receipt.eventId));
    const payload = await reader.payload(id);
    expect(new TextDecoder().decode(payload?.bytes), `bytes of ${receipt.eventId}`).toBe(known?.body);
    expectNoPayload((await reader.receipt(id))?.audit, `audit of ${receipt.eventId}`);
  }
  expectNoPayload(await reader.refusals(everything), "refusals");
  checkOrderFree(reference);
  telemetry.counts["lookup absent, then sent again"] += provider.sentAfterAbsent;
}

/** What is kept is the newest of what was taken, whatever order it came in; only a tie depends on that. */
function checkOrderFree({ receipts, snapshots }: World["reference"]): void {
  const taken = Map.groupBy(
    [...receipts.values()].flatMap(({ scope, fact, outcome }) =>
      fact.type === "customer.changed" && (outcome === "applied" || outcome === "stale")
        ? [{ key: snapshotKey(scope, fact.customer), ...fact }]
        : [],
    ),
    ({ key }) => key,
  );
  for (const [key, changes] of taken) {
    const revision = Math.max(...changes.map((change) => change.revision));
    const emails = new Set(changes.filter((change) => change.revision === revision).map(({ email }) => email));
    expect(snapshots.get(key)?.revision, `revision of ${key}`).toBe(revision);
    if (emails.size === 1) expect(snapshots.get(key)?.email, `state of ${key}`).toBe([...emails][0]);
  }
}
