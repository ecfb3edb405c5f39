import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";

// Not the system's folder for temporary files: that is memory on many machines, where fsync is free.
const root = join(import.meta.dirname, "../../.counterfoil/bench");

/** A new folder on the disk that holds the project, removed when it goes out of scope. */
export function dataFolder(): { readonly path: string } & Disposable {
  mkdirSync(root, { recursive: true });
  const path = mkdtempSync(join(root, "run-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
