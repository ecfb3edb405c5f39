import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

function run(
  files: Record<string, string>,
  ...more: string[]
): { readonly code: number | null; readonly lines: readonly string[] } {
  mkdirSync("node_modules/.cache", { recursive: true });
  const root = mkdtempSync(resolve("node_modules/.cache/tally-"));
  folders.push(root);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  const reporter = JSON.stringify(resolve("scripts/tally-reporter.ts"));
  const config = `import { TallyReporter } from ${reporter};
    export default { test: { include: ["*.test.js"], reporters: ["default", new TallyReporter()] } };`;
  writeFileSync(join(root, "vitest.config.ts"), config);
  const { status, stdout } = spawnSync("vitest", ["run", "--root", root, ...more], {
    encoding: "utf8",
    timeout: 50_000,
  });
  return { code: status, lines: stdout.trimEnd().split("\n") };
}

test("the last line of a run counts passed, failed and skipped tests", () => {
  const text = `import { expect, test } from "vitest";
    test("a", () => {}); test("b", () => {}); test.skip("c", () => {}); test("d", () => expect(1).toBe(2));`;
  const { code, lines } = run({ "a.test.js": text });
  expect(lines.at(-1)).toBe("2 passed, 1 failed, 1 skipped");
  expect(code).toBe(1);
});

test("a file that cannot be loaded and a hook that fails count as failed", () => {
  const hook = `import { beforeAll, describe, test } from "vitest";
    describe("s", () => { beforeAll(() => { throw new Error("hook"); }); test("hidden", () => {}); });`;
  const { lines } = run({ "load.test.js": `throw new Error("load");`, "hook.test.js": hook });
  expect(lines.at(-1)).toBe("0 passed, 2 failed, 1 skipped");
});

test("a test that passed only when it was run again is named", () => {
  const text = `import { expect, test } from "vitest";
    let runs = 0; test("steady", () => {}); test("unsteady", () => expect(runs++).toBe(1));`;
  const { code, lines } = run({ "a.test.js": text }, "--retry", "1");
  expect(lines.at(-3)).toBe("Passed only when run again:");
  expect(lines.at(-2)).toMatch(/a\.test\.js > unsteady$/);
  expect(lines.at(-1)).toBe("2 passed, 0 failed, 0 skipped");
  expect(code).toBe(0);
});
