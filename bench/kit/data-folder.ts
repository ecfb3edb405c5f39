import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Where databases stand: on the disk that holds the project. */
export function benchFolder(): string {
  // Not the system's folder for temporary files: that is memory on many machines, where fsync is free.
  const path = join(import.meta.dirname, "../../.counterfoil/bench");
  mkdirSync(path, { recursive: true });
  return path;
}

/** A new folder, which the caller removes. */
export function newFolder(parent: string): string {
  return mkdtempSync(join(parent, "run-"));
}

/** A new folder on the disk that holds the project, removed when it goes out of scope. */
export function dataFolder(): { readonly path: string } & Disposable {
  const path = newFolder(benchFolder());
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
