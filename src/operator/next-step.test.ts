import { expect, test } from "vitest";
import type { Obligation } from "../domain/obligation.ts";
import { lostReason } from "../domain/outcome.ts";
import type { Receipt } from "../domain/receipt.ts";
import { nextOfObligation, nextOfReceipt, type Outlook } from "./next-step.ts";

const now = 1_700_000_000_000;
const since = { wallMs: now, monotonicMs: 0, bootId: "boot" };

function next(was: Partial<Obligation>, over: Partial<Outlook> = {}): readonly [string, number | null, boolean] {
  const obligation = {
    state: "owed",
    reached: "no",
    keySince: null,
    dueAt: null,
    tries: 0,
    effect: "ship/v1",
    ...was,
  } as Obligation;
  const good = { kind: "good", remainingMs: 1 } as const;
  const { text, at, needsOperator } = nextOfObligation({
    obligation,
    key: good,
    canLookUp: false,
    lease: null,
    paused: false,
    waitsBehind: null,
    ...over,
  });
  return [text, at, needsOperator];
}

function nextReceipt(was: Partial<Receipt>): readonly [string, number | null, boolean] {
  const { text, at, needsOperator } = nextOfReceipt(
    { reason: null, dueAt: null, deadlineAt: null, ...was } as Receipt,
    { now, paused: false },
  );
  return [text, at, needsOperator];
}

test("what is due says what will be done with it, and when", () => {
  const dueAt = now + 5;
  const arrived = { reached: "maybe", keySince: since, dueAt } as const;
  expect(next({ dueAt })).toEqual(["it is sent", dueAt, false]);
  expect(next(arrived)).toEqual(["it is sent again: the same request under the same key", dueAt, false]);
  expect(next(arrived, { key: { kind: "expired" } })[0]).toMatch(/^nothing is sent again/);
  expect(next({ ...arrived, keySince: null }, { key: { kind: "none" } })[0]).toBe("it is sent");
  expect(next({ state: "uncertain", dueAt })[0]).toBe("the provider is asked whether it took effect");
  expect(next({ state: "settling", dueAt })[0]).toBe("its settled hook runs, from the stored answer");
  expect(next({ dueAt }, { key: { kind: "unknown" } })[0]).toBe("a worker that registers ship/v1 takes it");
});

test("what waits for an operator says what the operator can do", () => {
  const arrived = { state: "stuck", reached: "maybe", keySince: since } as const;
  expect(next({ state: "stuck" })).toEqual(["mend the cause and retry it, or cancel it", null, true]);
  expect(next(arrived)[0]).toBe("mend the cause and retry it, or cancel it");
  expect(next(arrived, { key: { kind: "expired" }, canLookUp: true })[0]).toMatch(
    /^look it up, mark it done if it took effect, or renew its key/,
  );
  expect(next({ ...arrived, state: "uncertain" }, { key: { kind: "none" } })[0]).toMatch(
    /^mark it done if it took effect/,
  );
  expect(next({ state: "settling" })[0]).toMatch(/^retry its settled hook, or mark it done/);
  expect(next({ dueAt: now }, { paused: true })).toEqual([
    "its destination is paused: put the credentials right, then resume it",
    null,
    true,
  ]);
});

test("what runs, and what is closed, waits for nobody", () => {
  expect(next({ state: "sending" }, { lease: { live: true } })).toEqual(["its call is running", null, false]);
  expect(next({ state: "uncertain" }, { lease: { live: true } })[0]).toBe("its lookup is running");
  expect(next({ state: "settling" }, { lease: { live: true } })[0]).toBe("its settled hook is running");
  expect(next({ state: "sending" }, { lease: { live: false } })[0]).toBe(
    "a worker takes note that the one before was lost",
  );
  for (const state of ["done", "cancelled", "withdrawn"] as const) {
    expect(next({ state })).toEqual(["nothing more is owed", null, false]);
  }
});

test("an open event says what it waits for, a final one that it is final", () => {
  const dueAt = now + 5;
  expect(nextReceipt({ outcome: "applied" })[0]).toBe("nothing: the outcome is final");
  expect(nextReceipt({ outcome: "ignored", reason: "unmapped" })[0]).toMatch(/until a handler is mapped/);
  expect(nextReceipt({ outcome: "held", dueAt })).toEqual(["its handler runs again", dueAt, false]);
  expect(nextReceipt({ outcome: "held" })).toEqual([
    "mend its handler and apply it, or resolve it as kept",
    null,
    true,
  ]);
  expect(nextReceipt({ outcome: "held", reason: lostReason })[0]).toMatch(/why its handler ends its process/);
  expect(nextReceipt({ outcome: "parked", dueAt, deadlineAt: now })).toEqual([
    "applied when what it waits for arrives; tried anyway; its deadline has passed",
    dueAt,
    true,
  ]);
  for (const outcome of ["conflict", "suspect", "quarantined"] as const) expect(nextReceipt({ outcome })[2]).toBe(true);
});
