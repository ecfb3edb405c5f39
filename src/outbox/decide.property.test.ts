/** Random lives of an obligation against a reference that only knows what may exist and since when. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { after, fresh, hour, start } from "../../test/outbox/situation.ts";
import type { Stamp } from "../domain/instant.ts";
import { defaults } from "../domain/limits.ts";
import { closedStates, furthest, type Progress } from "../domain/obligation.ts";
import { beforeSend, decide, type Learned, type Situation, type Step } from "./decide.ts";
import type { EffectPolicy } from "./effect-policy.ts";

describe("whatever happens, in whatever order", () => {
  const policies: fc.Arbitrary<EffectPolicy> = fc.record({
    key: fc.constantFrom({ lifetimeMs: 10 * 60_000, marginMs: 45_000 }, null),
    lookup: fc.constantFrom({ settleDelayMs: 10_000 }, null),
    hook: fc.boolean(),
    abandoned: fc.boolean(),
    attemptsMax: fc.integer({ min: 1, max: 4 }),
  });
  const limits = { ...defaults, lookupsMax: 4, crashesMax: 3, hookTriesMax: 3 };
  const sends: fc.Arbitrary<Learned> = fc.oneof(
    fc.record({
      kind: fc.constant("sent" as const),
      verdict: fc.constantFrom("again", "unknown", "running", "pause", "permanent", "key_reused" as const),
      reached: fc.constantFrom("no", "maybe" as const),
      reason: fc.constant("r"),
      retryAfterMs: fc.option(fc.integer({ min: 1, max: 2 * hour }), { nil: undefined }),
    }),
    fc.constant<Learned>({ kind: "sent", verdict: "not_sent", reached: "no", reason: "r" }),
    fc.constant<Learned>({ kind: "exists", by: "send", unfit: null }),
  );
  const looks: fc.Arbitrary<Learned> = fc.constantFrom<Learned>(
    { kind: "absent" },
    { kind: "lookup_unknown", reason: "r" },
    { kind: "exists", by: "lookup", unfit: "u" },
  );
  const hooks: fc.Arbitrary<Learned> = fc.constantFrom<Learned>(
    { kind: "hooked" },
    { kind: "hook_failed", reason: "r" },
  );
  /** One thing that happens: which, how long until the claim, how long it takes, and how the wall clock jumps meanwhile. */
  const happenings = fc.array(
    fc.record({
      send: sends,
      look: looks,
      hook: hooks,
      crash: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      waitMs: fc.integer({ min: 0, max: 20 * 60_000 }),
      tookMs: fc.integer({ min: 0, max: 30_000 }),
      wallStepMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: -hour, max: hour })),
      random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    }),
    { minLength: 1, maxLength: 60 },
  );

  type Happening = typeof happenings extends fc.Arbitrary<readonly (infer One)[]> ? One : never;

  interface World {
    progress: Progress;
    stamp: Stamp;
    /** The reference's own view: since when the present key may have done something that nobody has denied. */
    openSince: { readonly stamp: Stamp; readonly generation: number } | null;
    steps: number;
  }

  function ended({ progress }: World, keepLease: boolean): boolean {
    return (closedStates as readonly string[]).includes(progress.state) || (progress.dueAt === null && !keepLease);
  }

  function run(
    policy: EffectPolicy,
    list: readonly Happening[],
    check: (before: Progress, step: Step, world: World) => void,
  ): World & { readonly over: boolean } {
    const world: World = { progress: { ...fresh, state: "owed" }, stamp: start, openSince: null, steps: 0 };
    let keepLease = false;
    for (const happening of list) {
      const claimedAt = after(world.stamp, keepLease ? 0 : happening.waitMs);
      world.stamp = { ...after(claimedAt, happening.tookMs) };
      world.stamp = { ...world.stamp, wallMs: world.stamp.wallMs + happening.wallStepMs };
      const before = world.progress;
      const state = before.state === "owed" ? "sending" : before.state;
      const situation = {
        policy,
        limits,
        random: () => happening.random,
        claimedAt,
        stamp: world.stamp,
        holder: !happening.crash,
        obligation: { ...fresh, ...before, state },
      } satisfies Situation;
      const halted = state === "sending" ? beforeSend({ ...situation, stamp: claimedAt }) : undefined;
      if (state === "sending" && !halted) sending(policy, world, claimedAt);
      const learned = happening.crash
        ? { kind: "crashed" as const }
        : state === "sending"
          ? happening.send
          : state === "uncertain"
            ? happening.look
            : happening.hook;
      const step = halted ?? decide(situation, learned);
      if (!halted) remember(world, learned, { claimedAt, to: step.to });
      world.progress = step.to;
      world.steps += 1;
      keepLease = step.keepLease;
      check(before, step, world);
      if (ended(world, keepLease)) return { ...world, over: true };
    }
    return { ...world, over: false };
  }

  /** A request goes out: nothing that may exist is open, or it goes out under the very key that is still good. */
  function sending(policy: EffectPolicy, { openSince, progress }: World, claimedAt: Stamp): void {
    if (openSince === null) return;
    if (policy.key === null) throw new Error("sent again without a contract while the effect may exist");
    if (openSince.generation !== progress.generation) throw new Error("sent under another key while it may exist");
    // The wall clock jumps about in these runs; the time that truly passed is the monotonic one.
    const elapsedMs = claimedAt.monotonicMs - openSince.stamp.monotonicMs;
    if (elapsedMs >= policy.key.lifetimeMs - policy.key.marginMs) throw new Error("sent under a dead key");
  }

  function remember(world: World, learned: Learned, { claimedAt, to }: { claimedAt: Stamp; to: Progress }): void {
    const sending = world.progress.state === "owed";
    if (sending && (learned.kind === "crashed" || (learned.kind === "sent" && learned.reached !== "no"))) {
      world.openSince ??= { stamp: claimedAt, generation: world.progress.generation };
    }
    if (learned.kind === "absent" && to.state !== "uncertain") world.openSince = null;
  }

  test("nothing that may exist is sent again without a good key, an absent, or an operator", () => {
    fc.assert(
      fc.property(policies, happenings, (policy, list) => void run(policy, list, () => {})),
      { numRuns: 3_000 },
    );
  });

  test("what was reached never falls back, and fences off the states", () => {
    fc.assert(
      fc.property(policies, happenings, (policy, list) => {
        run(policy, list, (before, { to }) => {
          expect(furthest(before.reached, to.reached)).toBe(to.reached);
          if (before.state === "settling") expect(["settling", "done"]).toContain(to.state);
          if (to.state === "settling" || to.state === "done") expect(to.reached).toBe("yes");
          expect(to.generation).toBeGreaterThanOrEqual(before.generation);
        });
      }),
    );
  });

  test("every step that is not final has a due time, a kept lease, or a place on the operator's list", () => {
    fc.assert(
      fc.property(policies, happenings, (policy, list) => {
        run(policy, list, (_, { to, keepLease }) => {
          if (to.state === "owed") expect(to.dueAt).not.toBeNull();
          if (to.state === "settling" && to.dueAt === null && !keepLease) expect(to.reason).not.toBeNull();
          if (to.state === "uncertain" && policy.lookup) expect(to.dueAt).not.toBeNull();
          if (to.state === "stuck") expect(to).toMatchObject({ dueAt: null, reason: expect.any(String) as string });
          expect(to.state).not.toBe("sending");
        });
      }),
    );
  });

  test("every path ends", () => {
    // Each send may be halted once, and each budget is spent in turn; crashes in a row are bounded between two other ends.
    const bound = (1 + limits.crashesMax) * (2 * 4 + 2 * limits.lookupsMax + limits.hookTriesMax + 2);
    const long = fc.array(happenings, { minLength: 6, maxLength: 6 }).map((lists) => lists.flat());
    fc.assert(
      fc.property(policies, long, (policy, list) => {
        const forever = Array.from({ length: bound }, (_, index) => list[index % list.length]).filter(
          (happening) => happening !== undefined,
        );
        expect(run(policy, forever, () => {}).over).toBe(true);
      }),
    );
  });
});
