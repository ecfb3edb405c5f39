import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Found, type Key, readCursor, takeInTurn } from "./attention-pages.ts";

/** Lists whose rows are numbered from 1, with as many rows as each number says. */
function listsOf(lengths: readonly number[], from: readonly Key[], limit: number): readonly (readonly Found[])[] {
  return from.map((start, at) => {
    const rows = Array.from({ length: lengths[at] ?? 0 }, (_, index): Found => {
      const name = String(index + 1).padStart(3, "0");
      const key = at === 0 || at === 6 ? [name] : start.map(() => index + 1);
      return { item: { kind: "destination", destination: `${at}-${name}`, reason: "" }, key };
    });
    return rows.filter(({ key: [first = 0] }) => first > (start[0] ?? 0)).slice(0, limit);
  });
}

function page(lengths: readonly number[], after: string | undefined, limit: number): ReturnType<typeof takeInTurn> {
  const from = readCursor(after);
  return takeInTurn(listsOf(lengths, from, limit), { from, limit });
}

const lengthsOf = fc.array(fc.integer({ min: 0, max: 7 }), { minLength: 7, maxLength: 7 });

test("pages of any size give every row once", () => {
  fc.assert(
    fc.property(lengthsOf, fc.integer({ min: 1, max: 9 }), (lengths, limit) => {
      const names: string[] = [];
      let after: string | undefined;
      for (;;) {
        const items = page(lengths, after, limit);
        names.push(...items.map((item) => (item.kind === "destination" ? item.destination : "")));
        if (items.length < limit) break;
        after = items.at(-1)?.cursor;
      }
      const total = lengths.reduce((sum, length) => sum + length, 0);
      expect([names.length, new Set(names).size]).toEqual([total, total]);
    }),
  );
});

test("no list hides another, and what one does not need the others get", () => {
  fc.assert(
    fc.property(lengthsOf, fc.integer({ min: 7, max: 9 }), (lengths, limit) => {
      const items = page(lengths, undefined, limit);
      const lists = new Set(items.map((item) => (item.kind === "destination" ? item.destination[0] : "")));
      expect(lists.size).toBe(lengths.filter((length) => length > 0).length);
      const total = lengths.reduce((sum, length) => sum + length, 0);
      expect(items.length).toBe(Math.min(limit, total));
    }),
  );
});

test.each(["", "page 2", "W10", Buffer.from('[[""],[0],[0],[0,0],[0,"x"],[0],[""]]').toString("base64url"), "bnVsbA"])(
  "%j is no cursor",
  (cursor) => {
    expect(() => readCursor(cursor)).toThrow(RangeError);
  },
);
