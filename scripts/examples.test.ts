/** The examples of the documentation type-check, run, and give the values that they note. */
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { compile, indexExports } from "./examples/compile.ts";
import { extract } from "./examples/extract.ts";

const read = (path: string): { readonly path: string; readonly text: string } => ({
  path,
  text: readFileSync(path, "utf8"),
});
const sources = globSync("src/**/*.ts", { exclude: ["**/*.test.ts"] }).map(read);
const pages = globSync(["README.md", "docs/**/*.md"]).map(read);

mkdirSync(".examples", { recursive: true });
const folder = mkdtempSync(".examples/run-");
afterAll(() => rmSync(folder, { recursive: true }));

const index = indexExports(sources);
const examples = [...sources, ...pages].flatMap(({ path, text }) =>
  extract(path, text).map((example) => {
    const file = join(folder, `${path.replaceAll(/\W+/gu, "-")}-${example.line}.ts`);
    // A page shows a reader's own file, so it must import what it uses.
    writeFileSync(file, compile(example, path.endsWith(".md") ? new Map() : index, folder));
    return { at: `${path}:${example.line}`, file };
  }),
);

test("every example type-checks", () => {
  expect(examples.length).toBeGreaterThan(0);
  const options = { noUnusedLocals: false, noUnusedParameters: false };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: resolve("tsconfig.json"), compilerOptions: options, include: ["*.ts"] }),
  );
  const { stdout } = spawnSync("tsc", ["-p", folder], { encoding: "utf8" });
  expect(stdout.split("\n").filter((line) => line.startsWith(folder))).toEqual([]);
});

test.each(examples)("the example at $at runs and gives what it notes", async ({ file }) => {
  await import(resolve(file));
});
