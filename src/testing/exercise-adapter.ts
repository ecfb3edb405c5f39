import { AdapterBench, type AdapterCase } from "./adapter-bench.ts";
import { misuseCases } from "./adapter-misuse-cases.ts";
import { receiptCases } from "./adapter-receipt-cases.ts";
import type { AdapterSubject } from "./adapter-subject.ts";
import { workCases } from "./adapter-work-cases.ts";

/**
 * Holds an adapter to what `app.within` needs of it, each part as a test of its own: commit and rollback,
 * conflicts, receipts and their duplicates, values, savepoints, and what is refused.
 *
 * @example
 * ```ts no-run
 * import { test } from "node:test";
 * exerciseAdapter(test, async () => ({ store, transact: (body) => db.transaction((tx) => body(fromDrizzle(tx, sql))) }));
 * ```
 */
export function exerciseAdapter(
  test: (name: string, run: () => Promise<void>) => unknown,
  open: () => Promise<AdapterSubject>,
): void {
  const cases: Readonly<Record<string, AdapterCase>> = { ...workCases, ...receiptCases, ...misuseCases };
  for (const [name, run] of Object.entries(cases)) {
    test(name, async () => {
      await using subject = await open();
      await using bench = await AdapterBench.on(subject);
      await run(bench);
    });
  }
}
