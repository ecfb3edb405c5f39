/** The README's program compiles as a reader pastes it, also under the strictest of common settings. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

test("the README's handler and the rest of its program are one file that compiles, with noImplicitReturns too", () => {
  const blocks = [...readFileSync("README.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gmsu)].map(([, code]) => code);
  expect(blocks.slice(0, 2)).toEqual([expect.stringContaining("stripe.on("), expect.stringContaining("defineApp(")]);
  mkdirSync(".examples", { recursive: true });
  const folder = mkdtempSync(".examples/readme-");
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "counterfoil.config.ts"), blocks.slice(0, 2).join("\n"));
  const compilerOptions = { noImplicitReturns: true, isolatedDeclarations: true, declaration: true };
  const config = { extends: resolve("tsconfig.json"), compilerOptions, include: ["*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout, status } = spawnSync("tsc", ["-p", folder], { encoding: "utf8" });
  expect([stdout, status]).toEqual(["", 0]);
});
