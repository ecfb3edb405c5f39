/** The program of docs/tutorial.md compiles at every step, and does at the end what the page says. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

/** The files of each step: those that it shows, over those of the step before. */
function steps(): readonly ReadonlyMap<string, string>[] {
  const sections = readFileSync("docs/tutorial.md", "utf8")
    .split(/^## \d/mu)
    .slice(1);
  const shown = sections.map((section) => [...section.matchAll(/^```ts\n(?:\/\/ (\S+)\n)?(.*?)^```$/gmsu)]);
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
  expect(steps().map((files) => [...files.keys()])).toEqual([
    ["naive.ts"],
    ["naive.ts", "payments.ts", "counterfoil.config.ts"],
    ["naive.ts", "payments.ts", "counterfoil.config.ts", "checkout.ts"],
    ["naive.ts", "payments.ts", "counterfoil.config.ts", "checkout.ts", "shipping.ts"],
    ["naive.ts", "payments.ts", "counterfoil.config.ts", "checkout.ts", "shipping.ts"],
    ["naive.ts", "payments.ts", "counterfoil.config.ts", "checkout.ts", "shipping.ts", "try.ts"],
  ]);
  const config = { extends: resolve("tsconfig.json"), include: ["**/*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout, status } = spawnSync("tsc", ["-p", folder], { encoding: "utf8" });
  expect([stdout, status]).toEqual(["", 0]);
});

test("the last step receives, waits, ships once over a lost answer, and refuses the rest", () => {
  const child = [...process.execArgv, join(folder, "step-6", "try.ts")];
  const { stderr, status } = spawnSync(process.execPath, child, { encoding: "utf8", timeout: 100_000 });
  expect([stderr, status]).toEqual(["", 0]);
});
