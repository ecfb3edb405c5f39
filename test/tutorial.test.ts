/** The program of docs/tutorial.md compiles at every step, and prints there what the page says. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

function sections(): readonly string[] {
  return readFileSync("docs/tutorial.md", "utf8")
    .split(/^## \d/mu)
    .slice(1);
}

/** What each step says that its try prints. */
function printed(): readonly (string | undefined)[] {
  return sections().map((section) => /^```text\n(.*?)^```$/msu.exec(section)?.[1]);
}

/** The files of each step: those that it shows, over those of the step before. */
function steps(): readonly ReadonlyMap<string, string>[] {
  const shown = sections().map((section) => [...section.matchAll(/^```ts\n(?:\/\/ (\S+)\n)?(.*?)^```$/gmsu)]);
  let files = new Map<string, string>();
  return shown.map((blocks) => {
    files = new Map([...files, ...blocks.map(([, name = "", code = ""]) => [name, code] as const)]);
    return files;
  });
}

let folder: string;
beforeAll(() => {
  mkdirSync(".examples", { recursive: true });
  folder = mkdtempSync(".examples/tutorial-");
  for (const [index, files] of steps().entries()) {
    const step = join(folder, `step-${index + 1}`);
    mkdirSync(step);
    for (const [name, code] of files) writeFileSync(join(step, name), code);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

test("each step shows whole files by name, which compile with those of the steps before", () => {
  const first = ["naive.ts", "payments.ts", "counterfoil.config.ts", "checkout.ts", "try.ts"];
  expect(steps().map((files) => [...files.keys()])).toEqual([
    ["naive.ts"],
    first,
    first,
    ...[4, 5, 6].map(() => [...first, "shipping.ts"]),
  ]);
  const config = { extends: resolve("tsconfig.json"), include: ["**/*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout, status } = spawnSync("tsc", ["-p", folder], { encoding: "utf8" });
  expect([stdout, status]).toEqual(["", 0]);
});

test.each([2, 3, 4, 5, 6])("step %i prints what the page says", (step) => {
  const child = [...process.execArgv, join(folder, `step-${step}`, "try.ts")];
  const { stdout, stderr, status } = spawnSync(process.execPath, child, { encoding: "utf8", timeout: 100_000 });
  expect([stderr, status]).toEqual(["", 0]);
  expect(stdout).toBe(printed()[step - 1]);
});
