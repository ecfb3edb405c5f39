import { describe, expect, test } from "vitest";
import { after, at, bare, day, hour, keyed, lookup, sent, start } from "../../test/outbox/situation.ts";
import { defaults } from "../domain/limits.ts";
import { beforeSend, decide, type Situation } from "./decide.ts";

describe("a send", () => {
  test("that was answered with success is done", () => {
    expect(decide(at(), { kind: "exists", by: "send", unfit: null })).toMatchObject({
      to: { state: "done", reached: "yes", dueAt: null, reason: null },
      keepLease: false,
    });
  });

  test("that was answered with success settles under the same lease where a hook is to run", () => {
    const step = decide(at({ policy: { ...keyed, hook: true }, was: { tries: 7 } }), {
      kind: "exists",
      by: "send",
      unfit: null,
    });
    expect(step).toMatchObject({ to: { state: "settling", tries: 0, dueAt: null }, keepLease: true });
  });

  test("whose answer does not fit is done all the same, with the reason, and its hook is the operator's", () => {
    const unfit = "the answer does not fit";
    expect(decide(at(), { kind: "exists", by: "send", unfit })).toMatchObject({ to: { state: "done", reason: unfit } });
    const hooked = decide(at({ policy: { ...keyed, hook: true } }), { kind: "exists", by: "send", unfit });
    expect(hooked).toMatchObject({
      to: { state: "settling", reached: "yes", dueAt: null, reason: unfit },
      keepLease: false,
    });
  });

  test("that never left is owed again and leaves the key unused", () => {
    const { to } = decide(at(), sent("not_sent"));
    expect(to).toMatchObject({ state: "owed", reached: "no", keySince: null, lastCallEndedAt: null, tries: 1 });
    expect(to.dueAt).toBeGreaterThanOrEqual(start.wallMs + 1_000 + defaults.retryFirstMs);
  });

  test("whose outcome is unknown is owed again under the same key, whose life began at the claim", () => {
    const { to } = decide(at(), sent("unknown"));
    expect(to).toMatchObject({
      state: "owed",
      reached: "maybe",
      generation: 1,
      keySince: start,
      lastCallEndedAt: after(start, 1_000),
    });
  });

  test("is not due later than its key is good", () => {
    const stamp = after(start, day - defaults.keyMarginMs - 30_000);
    const { to } = decide(
      at({ was: { tries: 20, keySince: start, reached: "maybe" }, stamp, random: () => 0.99 }),
      sent("unknown"),
    );
    expect(to.state).toBe("owed");
    expect(to.dueAt).toBeLessThan(start.wallMs + day - defaults.keyMarginMs);
  });

  test("whose provider wants to be left alone beyond the key's life is uncertain at once", () => {
    const stamp = after(start, day - hour);
    const step = decide(
      at({ was: { keySince: start, reached: "maybe" }, stamp }),
      sent("again", { retryAfterMs: 2 * hour }),
    );
    expect(step.to).toMatchObject({ state: "uncertain", dueAt: null });
    expect(step.keyExpired).toBeUndefined();
  });

  test("waits for as long as the provider asks, within the bound", () => {
    const due = (retryAfterMs: number): number =>
      (decide(at(), sent("again", { reached: "no", retryAfterMs })).to.dueAt ?? 0) - start.wallMs - 1_000;
    expect(due(120_000)).toBe(120_000);
    expect(due(1e12)).toBe(defaults.retryAfterMaxMs);
    expect(due(1)).toBe(defaults.retryFirstMs);
  });

  test("whose outcome is unknown without a contract waits for a lookup, after the settle delay", () => {
    const { to } = decide(at({ policy: { ...bare, lookup } }), sent("unknown"));
    expect(to).toMatchObject({ state: "uncertain", dueAt: start.wallMs + 1_000 + lookup.settleDelayMs });
  });

  test("whose outcome is unknown without a contract and without a lookup is the operator's", () => {
    expect(decide(at({ policy: bare }), sent("unknown")).to).toMatchObject({
      state: "uncertain",
      dueAt: null,
      reason: "status 503",
    });
  });

  test("that a provider without a contract refused for now is sent again", () => {
    expect(decide(at({ policy: bare }), sent("again", { reached: "no" })).to).toMatchObject({
      state: "owed",
      reached: "no",
      keySince: null,
    });
  });

  test("that met a busy provider starts the key's life, since the provider has seen the key", () => {
    expect(decide(at(), sent("again", { reached: "no" })).to).toMatchObject({
      state: "owed",
      reached: "no",
      keySince: start,
    });
  });

  test("that was refused for good is stuck with the reason", () => {
    expect(decide(at(), sent("permanent", { reached: "no", reason: "status 422" })).to).toMatchObject({
      state: "stuck",
      reason: "status 422",
      reached: "no",
    });
    expect(decide(at(), sent("key_reused")).to).toMatchObject({ state: "stuck", reached: "maybe" });
  });

  test("that was refused for its credentials pauses the destination and stays owed", () => {
    const step = decide(at(), sent("pause", { reached: "no", reason: "status 401" }));
    expect(step).toMatchObject({ to: { state: "owed", reason: "status 401", tries: 1 }, pause: "status 401" });
  });

  test("that spent the last try is stuck, or uncertain where a lookup can still tell", () => {
    const was = { tries: 29 };
    expect(decide(at({ was }), sent("unknown")).to).toMatchObject({
      state: "stuck",
      reason: "30 tries spent, the last: status 503",
    });
    expect(decide(at({ was }), sent("not_sent")).to.state).toBe("stuck");
    expect(decide(at({ was, policy: { ...keyed, lookup } }), sent("unknown")).to.state).toBe("uncertain");
  });

  test("never lets what was reached fall back", () => {
    expect(decide(at({ was: { reached: "maybe", keySince: start } }), sent("not_sent")).to.reached).toBe("maybe");
  });
});

describe("the look at the key right after the claim", () => {
  const used = { state: "owed", reached: "maybe", keySince: start } as const;

  test("lets a request out while the key is good", () => {
    expect(beforeSend(at({ was: used, stamp: after(start, day - defaults.keyMarginMs - 60_000) }))).toBeUndefined();
  });

  test.each([
    ["a minute before its end", day - 60_000],
    ["three days after its end", 4 * day],
  ])("sends nothing %s that may have taken effect", (_, ms) => {
    const margin = { ...keyed, key: { lifetimeMs: day, marginMs: 90_000 } };
    const step = beforeSend(at({ was: used, policy: margin, stamp: after(start, ms) }));
    expect(step).toMatchObject({ to: { state: "uncertain", dueAt: null, generation: 1 }, keyExpired: true });
  });

  test("trusts whichever clock says that the key is older", () => {
    const stepped = { ...start, wallMs: start.wallMs - hour, monotonicMs: start.monotonicMs + 2 * day };
    expect(beforeSend(at({ was: used, stamp: stepped }))?.to.state).toBe("uncertain");
    const suspended = { ...start, wallMs: start.wallMs + 2 * day, monotonicMs: start.monotonicMs + 1 };
    expect(beforeSend(at({ was: used, stamp: suspended }))?.to.state).toBe("uncertain");
  });

  test("renews a dead key of what cannot have taken effect, and notes it", () => {
    const step = beforeSend(at({ was: { ...used, reached: "no" }, stamp: after(start, 2 * day) }));
    expect(step?.to).toMatchObject({ state: "owed", generation: 2, keySince: null, dueAt: start.wallMs + 2 * day });
  });

  test("lets nothing out without a contract once it may have taken effect", () => {
    expect(beforeSend(at({ was: used, policy: bare }))?.to).toMatchObject({ state: "uncertain", dueAt: null });
    expect(beforeSend(at({ was: { ...used, keySince: null, generation: 2 }, policy: bare }))).toBeUndefined();
  });
});

describe("a lookup", () => {
  const asking = { state: "uncertain", reached: "maybe", keySince: start, lastCallEndedAt: start } as const;
  const later = after(start, 20_000);
  const looking = (over: Parameters<typeof at>[0] = {}): Situation =>
    at({
      policy: { ...keyed, lookup },
      claimedAt: later,
      stamp: after(later, 500),
      ...over,
      was: { ...asking, ...over.was },
    });

  test("that found the effect ends as an answer does", () => {
    expect(decide(looking(), { kind: "exists", by: "lookup", unfit: null }).to).toMatchObject({
      state: "done",
      reached: "yes",
      lookups: 1,
    });
  });

  test("that found nothing owes at once, under the same key while it is good", () => {
    expect(decide(looking(), { kind: "absent" }).to).toMatchObject({
      state: "owed",
      generation: 1,
      keySince: start,
      dueAt: later.wallMs + 500,
    });
  });

  test("that found nothing owes not before its time", () => {
    const notBefore = later.wallMs + day;
    const absent = { kind: "absent" } as const;
    expect(decide(looking({ was: { notBefore } }), absent).to).toMatchObject({ state: "owed", dueAt: notBefore });
  });

  test("that found nothing owes under a new key once the old one is dead, and without a contract", () => {
    const old = after(start, 2 * day);
    expect(decide(looking({ claimedAt: old, stamp: old }), { kind: "absent" }).to).toMatchObject({
      state: "owed",
      generation: 2,
      keySince: null,
      reached: "maybe",
    });
    expect(decide(looking({ policy: { ...bare, lookup } }), { kind: "absent" }).to).toMatchObject({
      state: "owed",
      generation: 2,
      keySince: null,
    });
  });

  test("that began before the settle delay was over tells nothing when it finds nothing", () => {
    const early = after(start, 9_000);
    const { to } = decide(looking({ claimedAt: early, stamp: after(start, 30_000) }), { kind: "absent" });
    expect(to).toMatchObject({ state: "uncertain", lookups: 1 });
  });

  test("believes the slower clock about the settle delay", () => {
    const stepped = { ...start, wallMs: start.wallMs + hour, monotonicMs: start.monotonicMs + 2_000 };
    const { to } = decide(looking({ claimedAt: stepped, stamp: stepped }), { kind: "absent" });
    expect(to).toMatchObject({ state: "uncertain", dueAt: stepped.wallMs + 8_000 });
  });

  test("that told nothing spends its own budget and then is the operator's", () => {
    const nothing = { kind: "lookup_unknown", reason: "status 503" } as const;
    expect(decide(looking({ was: { tries: 29 } }), nothing).to).toMatchObject({
      state: "uncertain",
      lookups: 1,
      tries: 29,
    });
    expect(decide(looking({ was: { lookups: 29 } }), nothing).to).toMatchObject({
      state: "stuck",
      reason: "30 lookups told nothing, the last: status 503",
    });
  });

  test("that found nothing after the last try leaves it to the operator", () => {
    expect(decide(looking({ was: { tries: 30 } }), { kind: "absent" }).to).toMatchObject({
      state: "stuck",
      reason: "30 tries spent, the last: the lookup found nothing",
    });
  });

  test("of an effect that no longer declares one leaves it to the operator", () => {
    expect(decide(looking({ policy: keyed }), { kind: "lookup_unknown", reason: "no lookup" }).to).toMatchObject({
      state: "uncertain",
      dueAt: null,
    });
  });
});

describe("a hook", () => {
  const settling = { state: "settling", reached: "yes" } as const;

  test("that ran ends it", () => {
    expect(decide(at({ was: settling }), { kind: "hooked" }).to).toMatchObject({ state: "done", reason: null });
  });

  test("that failed runs again later, and in the end is the operator's, never sent again", () => {
    const failed = { kind: "hook_failed", reason: "TypeError" } as const;
    expect(decide(at({ was: settling }), failed).to).toMatchObject({
      state: "settling",
      tries: 1,
      reason: "TypeError",
      dueAt: start.wallMs + 2_000,
    });
    expect(decide(at({ was: { ...settling, tries: 19 } }), failed).to).toMatchObject({
      state: "settling",
      tries: 20,
      dueAt: null,
    });
  });
});

describe("a lost worker", () => {
  const rescue = { holder: false } as const;

  test("leaves an unknown outcome, and counts its crash", () => {
    expect(decide(at(rescue), { kind: "crashed" }).to).toMatchObject({
      state: "owed",
      reached: "maybe",
      keySince: start,
      crashes: 1,
      tries: 0,
    });
    expect(decide(at({ ...rescue, policy: { ...bare, lookup } }), { kind: "crashed" }).to).toMatchObject({
      state: "uncertain",
      reached: "maybe",
    });
  });

  test("counts the life of the key from the claim, not from the rescue", () => {
    const { to } = decide(at({ ...rescue, stamp: after(start, 3 * day) }), { kind: "crashed" });
    expect(to).toMatchObject({ state: "uncertain", dueAt: null });
  });

  test("a few times in a row leaves it to the operator", () => {
    const was = { crashes: defaults.crashesMax - 1 };
    expect(decide(at({ ...rescue, was }), { kind: "crashed" }).to).toMatchObject({
      state: "stuck",
      reason: "crashed worker: 5 were lost in a row",
      reached: "maybe",
    });
    expect(decide(at({ was }), sent("not_sent")).to.crashes).toBe(0);
  });

  test("in a hook counts as a failed run of the hook", () => {
    const was = { state: "settling", reached: "yes" } as const;
    expect(decide(at({ ...rescue, was }), { kind: "crashed" }).to).toMatchObject({
      state: "settling",
      tries: 1,
      reached: "yes",
    });
  });

  test("whose answer came late makes the hook due for anyone", () => {
    const step = decide(at({ ...rescue, policy: { ...keyed, hook: true } }), {
      kind: "exists",
      by: "evidence",
      unfit: null,
    });
    expect(step).toMatchObject({ to: { state: "settling", dueAt: start.wallMs + 1_000 }, keepLease: false });
  });
});

test.each(["send", "lookup", "settle"] as const)(
  "a claim to %s that never started goes back unharmed and due",
  (attempt) => {
    const was = { reached: "maybe", keySince: start, tries: 3, lookups: 2, crashes: 1, reason: "before" } as const;
    const { to } = decide(at({ was }), { kind: "released", attempt });
    expect(to).toMatchObject({
      ...was,
      state: { send: "owed", lookup: "uncertain", settle: "settling" }[attempt],
      dueAt: start.wallMs + 1_000,
    });
  },
);
