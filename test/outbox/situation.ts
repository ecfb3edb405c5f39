/** Situations for decisions, one second after the claim unless a test says otherwise. */
import type { Stamp } from "../../src/domain/instant.ts";
import { defaults } from "../../src/domain/limits.ts";
import type { Obligation } from "../../src/domain/obligation.ts";
import type { Sent, Situation } from "../../src/outbox/decide.ts";
import type { EffectPolicy } from "../../src/outbox/effect-policy.ts";

export const day: number = 86_400_000;
export const hour: number = 3_600_000;
export const start: Stamp = { wallMs: 1_700_000_000_000, monotonicMs: 5_000, bootId: "boot" };
export const keyed: EffectPolicy = {
  key: { lifetimeMs: day, marginMs: defaults.keyMarginMs },
  lookup: null,
  hook: false,
  abandoned: false,
  attemptsMax: 30,
};
export const bare: EffectPolicy = { ...keyed, key: null };
export const lookup: { readonly settleDelayMs: number } = { settleDelayMs: 10_000 };

export const fresh: Obligation = {
  id: 1,
  tenant: "acme",
  operationKey: "order-1/fulfil/v1",
  effect: "ship/v1",
  destination: "https://carrier.example",
  connection: "stripe",
  account: "",
  receiptId: 1,
  orderKey: null,
  notBefore: null,
  cancelRequested: false,
  fence: 1,
  createdAt: start.wallMs,
  updatedAt: start.wallMs,
  state: "sending",
  reached: "no",
  generation: 1,
  keySince: null,
  tries: 0,
  lookups: 0,
  crashes: 0,
  lastCallEndedAt: null,
  dueAt: null,
  reason: null,
};

export function after(stamp: Stamp, ms: number): Stamp {
  return { ...stamp, wallMs: stamp.wallMs + ms, monotonicMs: stamp.monotonicMs + ms };
}

export function at(over: Partial<Situation> & { readonly was?: Partial<Obligation> } = {}): Situation {
  const { was, ...rest } = over;
  const stamp = rest.stamp ?? after(start, 1_000);
  return {
    obligation: { ...fresh, ...was },
    policy: keyed,
    limits: defaults,
    random: () => 0,
    claimedAt: start,
    stamp,
    holder: true,
    ...rest,
  };
}

export function sent(verdict: Sent["verdict"], over: Partial<Sent> = {}): Sent {
  const reached = verdict === "not_sent" ? "no" : "maybe";
  return { kind: "sent", verdict, reached, reason: "status 503", ...over };
}
