import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type EffectDefinition, effect } from "../domain/effect.ts";
import { defaults } from "../domain/limits.ts";
import type { Decision } from "../domain/outcome.ts";
import { type } from "../domain/schema.ts";
import { place } from "../inbox/schedule.ts";
import { decide, type Learned } from "../outbox/decide.ts";
import { policyOf } from "../outbox/effect-policy.ts";
import { dueBounds } from "./upkeep.ts";

const day = 86_400_000;
const now = 1_700_000_000_000;

const slow = effect("slow/v1", {
  input: type<{ n: number }>(),
  request: () => ({ method: "POST", url: "https://slow.example" }),
  idempotency: "none",
  lookup: { get: () => "https://slow.example", found: () => undefined, settleDelay: "48h" },
});
const quick = effect("quick/v1", {
  input: type<{ n: number }>(),
  request: () => ({ method: "POST", url: "https://quick.example" }),
  idempotency: { header: "k", keyLifetime: "24h" },
});
const effects = new Map<string, EffectDefinition>([slow, quick].map(({ name, definition }) => [name, definition]));
const bounds = dueBounds({ effects, limits: defaults });

const random = fc.double({ min: 0, max: 0.999_999, noNaN: true }).map((value) => (): number => value);

describe("no due time is further away than its bound", () => {
  test("of an event, however long it waits and however often it failed", () => {
    const decisions: readonly Decision[] = [
      { outcome: "held", reason: null },
      { outcome: "parked", reason: null, waitsFor: { kind: "order", id: "1" } },
      { outcome: "queued", reason: null },
    ];
    const waited = fc.integer({ min: 0, max: 30 * day });
    fc.assert(
      fc.property(fc.constantFrom(...decisions), waited, fc.nat(30), random, (decision, waitedMs, tries, chance) => {
        const before = { id: 1, version: 1, tries, starts: 0, deadlineAt: null, receivedAt: now - waitedMs };
        const placing = { now, limits: defaults, random: chance, bytesKeptMs: 1, rank: null, orderKey: null };
        const { dueAt, deadlineAt } = place(before, decision, placing);
        expect(dueAt ?? now).toBeLessThanOrEqual(now + bounds.receiptsMs);
        expect(deadlineAt ?? now).toBeLessThanOrEqual(now + bounds.deadlinesMs);
      }),
    );
  });

  test("of an obligation, whatever was learned of it", () => {
    const learned: readonly Learned[] = [
      { kind: "sent", verdict: "again", reached: "maybe", reason: "", retryAfterMs: 30 * day },
      { kind: "sent", verdict: "not_sent", reached: "no", reason: "" },
      { kind: "sent", verdict: "unknown", reached: "maybe", reason: "" },
      { kind: "lookup_unknown", reason: "", retryAfterMs: 30 * day },
      { kind: "absent" },
      { kind: "hook_failed", reason: "" },
      { kind: "crashed" },
    ];
    const stamp = { wallMs: now, monotonicMs: 5_000, bootId: "boot" };
    const states = fc.constantFrom("sending" as const, "uncertain" as const, "settling" as const);
    fc.assert(
      fc.property(
        fc.constantFrom(...effects),
        fc.constantFrom(...learned),
        states,
        fc.nat(29),
        random,
        ([name, definition], what, state, tries, chance) => {
          const progress = { reached: "maybe", generation: 1, keySince: stamp, crashes: 0, dueAt: null } as const;
          const names = { tenant: "", operationKey: "", effect: name, destination: "", connection: "", account: "" };
          const obligation = {
            ...progress,
            ...names,
            id: 1,
            receiptId: null,
            orderKey: null,
            notBefore: null,
            cancelRequested: false,
            fence: 1,
            createdAt: now,
            updatedAt: now,
            reason: null,
            state,
            tries,
            lookups: tries,
            lastCallEndedAt: stamp,
          };
          const policy = policyOf(definition, defaults);
          const situation = { obligation, policy, limits: defaults, random: chance, claimedAt: stamp, stamp };
          const { to } = decide({ ...situation, holder: true }, what);
          const within = bounds.obligations.find((bound) => bound.effect === name)?.withinMs ?? 0;
          expect(to.dueAt ?? now).toBeLessThanOrEqual(now + within);
        },
      ),
    );
  });
});
