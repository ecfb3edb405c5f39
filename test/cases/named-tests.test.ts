/** The pages that name tests name tests that exist: a promise whose test was renamed or removed is found here. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const docs = new URL("../../docs/", import.meta.url);

/** A file that a page links to, and the titles in quotes right after it. */
const reference = /\]\((\.\.\/[^)]+\.ts)\)((?:[,;]? "[^"]+")+)/gu;

function page(name: string): string {
  return readFileSync(new URL(name, docs), "utf8");
}

/** Titles that a text names and its files do not have. */
function missing(text: string): string[] {
  return [...text.matchAll(reference)].flatMap(([, path = "", titles = ""]) => {
    const file = new URL(path, docs);
    if (!existsSync(file)) return [path];
    const source = readFileSync(file, "utf8");
    const named = [...titles.matchAll(/"([^"]+)"/gu)].map(([, title = ""]) => title);
    return named.filter((title) => !source.includes(`"${title}"`)).map((title) => `${path}: ${title}`);
  });
}

function isNamed(text: string): boolean {
  return text.search(reference) !== -1;
}

test("every case names tests that exist, or says that it is not covered yet", () => {
  const rows = page("cases.md").match(/^\| (?!case |---).*$/gmu) ?? [];
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.flatMap(missing)).toEqual([]);
  const cells = rows.map((row) => row.split(" | "));
  expect(cells.filter((row) => row.length !== 5).map(([title]) => title)).toEqual([]);
  const untold = cells.filter(([, , , , tests = ""]) => !isNamed(tests) && !tests.startsWith("not yet"));
  expect(untold.map(([title]) => title)).toEqual([]);
  const unsourced = cells.filter(([, , , from = ""]) => !from.includes("](https://github.com/"));
  expect(unsourced.map(([title]) => title)).toEqual([]);
});

test("each promise of the README names tests that exist", () => {
  const readme = readFileSync(new URL("../README.md", docs), "utf8");
  const promised = [...readme.matchAll(/^(\d+)\. \*\*([^*]+?)\.?\*\*/gmu)].map(
    ([, number, title]) => `${number}. ${title}`,
  );
  expect(promised).toHaveLength(13);
  const sections = page("promises.md").split(/^## /mu).slice(1);
  expect(sections.map((section) => section.split("\n")[0])).toEqual(promised);
  expect(sections.filter((section) => !isNamed(section))).toEqual([]);
  expect(missing(page("promises.md"))).toEqual([]);
});

test("every risk of the security page names tests that exist", () => {
  const rows = page("security.md").match(/^\| (?!risk |---).*$/gmu) ?? [];
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter((row) => !isNamed(row))).toEqual([]);
  expect(missing(page("security.md"))).toEqual([]);
});

test("whatever page names a test names one that exists", () => {
  const pages = globSync("*.md", { cwd: docs }).filter((name) => isNamed(page(name)));
  expect(pages).toContain("postgresql.md");
  expect(pages.flatMap((name) => missing(page(name)))).toEqual([]);
});
