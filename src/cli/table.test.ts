import { expect, test } from "vitest";
import { recordText, tableText } from "./table.ts";

test("columns are as wide as their widest cell, and the last has no trailing spaces", () => {
  expect(
    tableText(
      ["id", "state"],
      [
        [1, "owed"],
        [1_000, null],
      ],
    ),
  ).toBe("id    state\n1     owed\n1000  -");
});

test("a record stands in two columns, with a dash for what is empty", () => {
  expect(recordText({ id: 7, reason: null, account: "", live: false })).toBe(
    "id       7\nreason   -\naccount  -\nlive     false",
  );
});

test("a cell cannot break out of its line", () => {
  expect(tableText(["name"], [["a\nb"]])).toBe("name\na\\u{a}b");
});
