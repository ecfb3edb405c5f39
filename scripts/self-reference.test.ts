import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly scripts: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const entries = Object.entries(manifest.exports).flatMap(([path, target]) =>
  typeof target === "string" ? [] : [{ name: join("counterfoil", path), target }],
);
const url = (path: string | undefined): string => pathToFileURL(path ?? "").href;

function resolveInNode(name: string, flags: readonly string[]): string {
  const script = `process.stdout.write(import.meta.resolve("${name}"))`;
  const env = { ...process.env, NODE_OPTIONS: "" };
  return execFileSync(process.execPath, [...flags, "--input-type=module", "-e", script], { encoding: "utf8", env });
}

test.each(entries)("$name is its source in this repository and its build everywhere else", ({ name, target }) => {
  expect(resolveInNode(name, ["--conditions=counterfoil-source"])).toBe(url(target["counterfoil-source"]));
  expect(resolveInNode(name, [])).toBe(url(target["default"]));
});

test.each(entries)(
  "a test that imports $name gets the very module that relative imports give",
  async ({ name, target }) => {
    const source = join(process.cwd(), target["counterfoil-source"] ?? "");
    expect(await import(name)).toBe(await import(source));
  },
);

test("every script that runs sources asks for the source condition", () => {
  const runs = Object.values(manifest.scripts).filter((script) => /\b(?:src|examples|bench)\//u.test(script));
  expect(runs.length).toBeGreaterThan(0);
  for (const script of runs) expect(script).toContain("--conditions=counterfoil-source");
});

test("the published package carries what its exports name, and no tests", () => {
  const list = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8" });
  const packed = (JSON.parse(list) as [{ readonly files: readonly { readonly path: string }[] }])[0];
  const paths = packed.files.map((file) => file.path);
  for (const { target } of entries) expect(paths).toContain(join(target["counterfoil-source"] ?? ""));
  expect(paths.filter((path) => path.includes(".test.") || path.startsWith("test/"))).toEqual([]);
});
