import { type CopyOptions, type CopyReport, copyStore } from "../../src/copy/copy-store.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { Probe } from "../../src/domain/probe.ts";
import { CopyTarget } from "../../src/store/postgres/copy-target.ts";
import { CopySource } from "../../src/store/sqlite/copy-source.ts";

export interface CopyRun extends Partial<Pick<CopyOptions, "final" | "to" | "onProgress">> {
  readonly schema?: string;
  readonly probe?: Probe;
}

/** Runs one copy with connections of its own, as one process would. */
export async function runCopy(
  { path, url, clock }: { readonly path: string; readonly url: string; readonly clock: Clock },
  { final = false, to = "the server", onProgress, schema = "counterfoil", probe }: CopyRun = {},
): Promise<CopyReport> {
  const source = new CopySource(path, { clock, probe });
  const target = new CopyTarget({ settings: { connectionString: url }, schema, probe });
  try {
    // So small that even a small store has several batches.
    const bounds = { units: 16, bytes: 64 * 1024 };
    return await copyStore({
      source,
      target,
      bounds,
      from: "shop.db",
      to,
      final,
      who: "ann",
      why: "grown",
      onProgress,
    });
  } finally {
    source.close();
    await target.close();
  }
}
