/** The index of the documentation leaves no page out. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("docs/README.md has one line for every page", () => {
  const index = readFileSync("docs/README.md", "utf8");
  const listed = [...index.matchAll(/^- \[([\w-]+\.md)\]\(\1\): \S/gmu)].map(([, page = ""]) => page);
  const pages = globSync("*.md", { cwd: "docs" }).filter((page) => page !== "README.md");
  expect(listed.toSorted()).toEqual(pages.toSorted());
});
