import { expect, test } from "vitest";
import type { SnapshotHolder } from "../store/reader.ts";
import { heldLong } from "./operator-reads.ts";

const now = 1_000_000;

function held(...keptBy: readonly Partial<SnapshotHolder>[]): readonly string[] {
  const whole = keptBy.map((holder, index) => ({
    kind: "transaction" as const,
    name: String(index),
    since: null,
    transactions: 0,
    ...holder,
  }));
  return heldLong({ deadRows: { count: 0, keptBy: whole }, now }).map(({ name }) => name);
}

test("whoever holds an old state for a minute is told of, however little was written since", () => {
  expect(held({ since: now - 59_999, transactions: 1_000_000 }, { since: now - 60_000 })).toEqual(["1"]);
});

test("where the server does not tell since when, many transactions stand for a minute", () => {
  expect(held({ transactions: 99_999 }, { transactions: 100_000 })).toEqual(["1"]);
});

test("an engine without dead rows has nobody who keeps them", () => {
  expect(heldLong({ now })).toEqual([]);
});
