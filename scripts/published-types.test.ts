import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;

test("a project that has none of the tools and SDKs that are optional compiles against what is published", () => {
  const project = mkdtempSync(join(tmpdir(), "counterfoil-types-"));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  const installed = join(project, "node_modules", "counterfoil");
  mkdirSync(installed, { recursive: true });
  const compile = (...flags: string[]): string => {
    try {
      return execFileSync("tsc", flags, { encoding: "utf8", cwd: flags.includes("--noEmit") ? project : "." });
    } catch (error) {
      return (error as { readonly stdout: string }).stdout;
    }
  };
  expect(compile("-p", "tsconfig.build.json", "--outDir", join(installed, "dist"))).toBe("");
  const withoutSources = JSON.stringify(manifest, (key, value: unknown) =>
    key === "counterfoil-source" ? undefined : value,
  );
  writeFileSync(join(installed, "package.json"), withoutSources);
  // What npm installs beside it, and the types of Node that any such project has.
  for (const name of [...Object.keys(manifest.dependencies), "@types/node", "undici-types"]) {
    const link = join(project, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve("node_modules", name), link);
  }
  const entries = Object.keys(manifest.exports).filter((path) => !path.endsWith(".json"));
  const imports = entries.map((path, index) => `export * as entry${index} from "${join("counterfoil", path)}";`);
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(project, "uses.ts"), imports.join("\n"));
  const options = ["--noEmit", "--module", "nodenext", "--target", "esnext", "--strict", "--types", "node"];
  expect(compile("uses.ts", ...options)).toBe("");
});
