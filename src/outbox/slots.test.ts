import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Lane } from "../store/store.ts";
import { type SharedLane, Slots } from "./slots.ts";

const limits = { callsMax: 8, claimMax: 64, perDestination: 4, perLane: () => 4 };

function lanes(...names: readonly string[]): Lane[] {
  return names.map((name) => {
    const [effect = "", destination = ""] = name.split(" ");
    return { effect, destination, calls: true };
  });
}

function shared(slots: Slots, due: readonly Lane[], ending?: readonly SharedLane[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    slots.share(due, ending).map(({ effect, destination, limit }) => [`${effect} ${destination}`, limit]),
  );
}

describe("what is free", () => {
  test("goes to one lane up to its own bound", () => {
    expect(shared(new Slots(limits), lanes("ship a"))).toEqual({ "ship a": 4 });
  });

  test("is shared in equal parts, and what one cannot use goes to the others", () => {
    const perLane = (effect: string): number => (effect === "narrow" ? 1 : 4);
    expect(shared(new Slots({ ...limits, perLane }), lanes("ship a", "ship b"))).toEqual({ "ship a": 4, "ship b": 4 });
    expect(shared(new Slots({ ...limits, callsMax: 5, perLane }), lanes("narrow a", "ship b"))).toEqual({
      "narrow a": 1,
      "ship b": 4,
    });
  });

  test("to one destination is bounded over all effects that go there", () => {
    const all = shared(new Slots(limits), lanes("ship a", "mail a"));
    expect(Object.values(all).reduce((sum, limit) => sum + limit, 0)).toBe(4);
  });

  test("is less what runs, and more what the same transaction ends", () => {
    const slots = new Slots(limits);
    const [lane] = lanes("ship a") as [Lane];
    for (let n = 0; n < 4; n += 1) slots.take(lane);
    expect(shared(slots, [lane])).toEqual({});
    expect(shared(slots, [lane], [{ ...lane, limit: 2 }])).toEqual({ "ship a": 2 });
    expect(slots.busy).toBe(4);
    expect(shared(slots, [lane])).toEqual({});
    slots.free(lane);
    expect(shared(slots, [lane])).toEqual({ "ship a": 1 });
  });

  test("goes to lanes in turn where there is less than one for each", () => {
    const slots = new Slots({ ...limits, callsMax: 1 });
    const due = lanes("ship a", "ship b", "ship c");
    const served = [1, 2, 3].flatMap(() => {
      // To ask whether there is room must not use up a turn.
      expect(slots.hasRoom(due)).toBe(true);
      return Object.keys(shared(slots, due));
    });
    expect(new Set(served).size).toBe(3);
  });

  test("is room for a lane only where its own bounds leave some", () => {
    const slots = new Slots(limits);
    const [there, elsewhere] = lanes("ship a", "ship b") as [Lane, Lane];
    for (let n = 0; n < 4; n += 1) slots.take(there);
    expect([slots.hasRoom([there]), slots.hasRoom([there, elsewhere]), slots.hasRoom([])]).toEqual([
      false,
      true,
      false,
    ]);
    for (let n = 0; n < 4; n += 1) slots.take(elsewhere);
    expect(slots.hasRoom(lanes("ship c"))).toBe(false);
  });

  test("is given to hooks however many calls to their destination hang, within the bound for all", () => {
    const slots = new Slots({ ...limits, callsMax: 6 });
    const [calls] = lanes("ship a") as [Lane];
    const hooks = { ...calls, calls: false };
    for (let n = 0; n < 4; n += 1) slots.take(calls);
    expect(slots.hasRoom([calls])).toBe(false);
    expect(slots.share([calls, hooks])).toEqual([{ ...hooks, limit: 2 }]);
    slots.take(hooks);
    expect(slots.share([hooks])).toEqual([{ ...hooks, limit: 1 }]);
  });

  test("is given where an effect may have more calls to a destination than is usual", () => {
    expect(shared(new Slots({ ...limits, perLane: () => 6 }), lanes("bulk a"))).toEqual({ "bulk a": 6 });
  });
});

test("no bound is passed and no lane starves, whatever is due and running", () => {
  const lane = fc.record({
    effect: fc.constantFrom("a", "b", "c"),
    destination: fc.constantFrom("x", "y", "z"),
    calls: fc.constant(true),
  });
  const due = fc.uniqueArray(lane, { selector: ({ effect, destination }) => effect + destination, maxLength: 9 });
  fc.assert(
    fc.property(due, fc.array(lane, { maxLength: 12 }), fc.integer({ min: 1, max: 40 }), (some, running, callsMax) => {
      const slots = new Slots({ ...limits, callsMax });
      const room = running.slice(0, callsMax);
      for (const each of room) slots.take(each);
      const given = slots.share(some);
      const total = given.reduce((sum, { limit }) => sum + limit, 0);
      expect(total).toBeLessThanOrEqual(callsMax - room.length);
      for (const name of ["x", "y", "z"]) {
        const before = room.filter(({ destination }) => destination === name).length;
        const more = given.filter(({ destination }) => destination === name).reduce((sum, { limit }) => sum + limit, 0);
        expect(before + more).toBeLessThanOrEqual(Math.max(4, before));
        const waits = some.some(({ destination }) => destination === name);
        if (waits && before < 4 && callsMax - room.length >= some.length) expect(more).toBeGreaterThan(0);
      }
    }),
  );
});
