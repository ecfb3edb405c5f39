/** What must hold of obligations and their attempts: against the references, and against what they once were. */
import { expect } from "vitest";
import type { Attempt, Obligation } from "../../src/domain/obligation.ts";
import type { ObligationDetail } from "../../src/store/reader.ts";
import { expectNoPayload } from "./expect-no-payload.ts";
import type { World } from "./world.ts";

const reachedRank = { no: 0, maybe: 1, yes: 2 } as const;
export const closedStates: readonly string[] = ["done", "cancelled"];

/** `listed` are those on the operator's list. */
export async function checkObligations(world: World, listed: ReadonlySet<number>): Promise<void> {
  const { reader, seen, telemetry } = world;
  const obligations = await reader.obligations({}, { limit: 500 });
  await checkOwed(world, obligations);
  for (const obligation of obligations) {
    const before = seen.get(obligation.id);
    if (!before || telemetry.touched.has(obligation.id) || isOther(before.obligation, obligation)) {
      const detail = await reader.obligation(obligation.tenant, obligation.operationKey);
      if (!detail) throw new Error(`Bug: ${refOf(obligation)} is listed and not there`);
      checkStory(detail);
      if (before) checkProgress(before, detail);
      seen.set(obligation.id, detail);
    }
    checkEffects(world, seen.get(obligation.id)!, listed);
  }
  telemetry.touched.clear();
}

/** What is owed is what was paid and what then was settled, each once; and what was settled was settled once. */
async function checkOwed({ reference, observer }: World, obligations: readonly Obligation[]): Promise<void> {
  const settled = obligations.filter(({ state, effect }) => state === "done" && effect !== "notify/v1").map(refOf);
  const owed = reference.owed().map(({ tenant, order }) => `${tenant}/${order}/fulfil/v1`);
  const next = settled.map((ref) => ref.replace("/fulfil/", "/notify/"));
  expect(obligations.map(refOf).sort(), "owed").toEqual([...owed, ...next].sort());
  const hooks = await observer.app.transaction({ tenant: "north" }, async ({ tx }) => [
    ...(await tx.sql<{ tenant: string; id: string; settled: number }>`
      SELECT tenant, id, settled FROM orders WHERE settled > 0`),
  ]);
  const ran = hooks.map(({ tenant, id, settled }) => `${tenant}/${id}/fulfil/v1 ${settled}`);
  expect(ran.sort(), "settled hooks that ran, and how often").toEqual(settled.map((ref) => `${ref} 1`).sort());
}

/** What an obligation tells of itself. */
function checkStory({ obligation, attempts, request, audit }: ObligationDetail): void {
  const ref = refOf(obligation);
  expectNoPayload([obligation.reason, attempts, audit], `the story of ${ref}`);
  expect(bodyOf(request), `what is stored of ${ref}`).not.toContain("Bearer");
  const fences = attempts.map(({ fence }) => fence);
  expect(fences, `fences of ${ref}`).toEqual([...new Set(fences)].sort((left, right) => left - right));
  expect(fences.at(-1) ?? 0, `last fence of ${ref}`).toBeLessThanOrEqual(obligation.fence);
}

/** What may not fall back, and what may never change. */
function checkProgress(before: ObligationDetail, detail: ObligationDetail): void {
  const { obligation: was, attempts, requestDigest, request } = before;
  const { obligation: is } = detail;
  const ref = refOf(is);
  expect(is.fence, `fence of ${ref}`).toBeGreaterThanOrEqual(was.fence);
  expect(is.generation, `generation of ${ref}`).toBeGreaterThanOrEqual(was.generation);
  expect(reachedRank[is.reached], `how far ${ref} got`).toBeGreaterThanOrEqual(reachedRank[was.reached]);
  if (closedStates.includes(was.state)) expect(is.state, `${ref} was closed`).toBe(was.state);
  expect([detail.requestDigest, detail.request], `request of ${ref}`).toEqual([requestDigest, request]);
  for (const [index, attempt] of attempts.entries()) checkAttempt(attempt, detail.attempts[index], ref);
}

/** An attempt is written once more, with its end; what was presumed of a lost one gives way to its own word. */
function checkAttempt(was: Attempt, is: Attempt | undefined, ref: string): void {
  const { obligationId, fence, kind, generation, worker, startedAt, verdict } = was;
  const isOpen = verdict === "started" || verdict === "crashed";
  const kept = isOpen ? { obligationId, fence, kind, generation, worker, startedAt } : was;
  expect(is, `attempt ${fence} of ${ref}`).toMatchObject(kept);
}

/** What was really done for an obligation, and whether somebody will still care for it. */
function checkEffects({ carriers, provider }: World, detail: ObligationDetail, listed: ReadonlySet<number>): void {
  const { obligation, lease, attempts, audit, request } = detail;
  const { id, state, dueAt } = obligation;
  const ref = refOf(obligation);
  const { forced, said, arrivals, actions, keys } = provider.operation(ref);
  const effects = carriers.effects(ref).length;
  const isSeen = closedStates.includes(state) || lease !== null || dueAt !== null || listed.has(id);
  const sends = attempts.filter(({ kind }) => kind === "send").length;
  const bodies = [...keys.values()].map(({ body }) => body);
  const wrong = [
    !isSeen && `it is ${state} and nobody sees it`,
    effects > 1 + forced && `it took effect ${effects} times; an operator forced ${forced}`,
    state === "done" && !said && effects === 0 && "it is done, and did not take effect",
    sends < arrivals && `${arrivals} requests arrived, ${sends} are recorded`,
    audit.length !== actions && `operators acted ${actions} times, ${audit.length} are audited`,
    bodies.some((body) => body !== bodyOf(request)) && "what arrived is not what is stored",
  ];
  expect(wrong.filter(Boolean), ref).toEqual([]);
}

function bodyOf(request: ObligationDetail["request"]): string {
  return new TextDecoder().decode(request?.body ?? undefined);
}

function isOther(was: Obligation, is: Obligation): boolean {
  return JSON.stringify(was) !== JSON.stringify(is);
}

export function refOf({ tenant, operationKey }: Pick<Obligation, "tenant" | "operationKey">): string {
  return `${tenant}/${operationKey}`;
}
