import { deepEqual, ok } from "node:assert/strict";
import type { OwnTransaction } from "../app/within.ts";
import { hasCode } from "../domain/errors.ts";
import type { WorkContext } from "../domain/handler.ts";
import { type AdapterCase, failure, parcel } from "./adapter-bench.ts";

const acme = { tenant: "acme", connection: "exercise-a" };

/** What is refused, and what it leaves. */
export const misuseCases: Readonly<Record<string, AdapterCase>> = {
  "transaction control is refused, and the transaction goes on": async (bench) => {
    await bench.subject.transact(async (transaction) => {
      const { run } = bench.app.within(transaction);
      const controls: readonly ((context: WorkContext) => Promise<unknown>)[] = [
        ({ tx }) => tx.sql`COMMIT`,
        ({ tx }) => tx.sql`/* at once */ rollback`,
        ({ tx }) => tx.sql`SAVEPOINT mine`,
      ];
      for (const control of controls) ok(hasCode(await failure(run(acme, control)), "TRANSACTION_CONTROL"));
      ok((await failure(run(acme, ({ tx }) => tx.sql`SELECT 1; SELECT 2`))) instanceof Error);
      await bench.note(transaction, "after");
    });
    deepEqual(await bench.notes(), ["after"]);
  },

  "an error of the server is known by its code, however the tool wraps it": async (bench) => {
    if (bench.app.runtime.store.kind !== "postgres") return;
    const done = bench.subject.transact(async (transaction) => {
      const { run } = bench.app.within(transaction);
      const raise = run(acme, ({ tx }) => tx.sql`DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`);
      ok(hasCode(await failure(raise), "RACE_LOST"));
      await bench.note(transaction, "after");
    });
    const isEnded = bench.subject.known?.failureEndsTransaction ?? false;
    if (isEnded) await failure(done);
    else await done;
    deepEqual(await bench.notes(), isEnded ? [] : ["after"]);
  },

  "two uses of one transaction at once are refused": async (bench) => {
    await bench.subject.transact(async (transaction) => {
      const { run } = bench.app.within(transaction);
      await run(acme, async ({ owe }) => {
        await owe(parcel, { key: [bench.id, "outer"], input: { to: "a" } });
        const inner = run(acme, ({ owe: again }) => again(parcel, { key: [bench.id, "inner"], input: { to: "a" } }));
        ok(hasCode(await failure(inner), "TRANSACTION_CONTROL"));
      });
    });
    deepEqual(await bench.owed(), ["outer"]);
  },

  "after its end nothing can be done in it any more": async (bench) => {
    const kept: { transaction?: OwnTransaction; context?: WorkContext } = {};
    await bench.subject.transact(async (transaction) => {
      kept.transaction = transaction;
      await bench.app.within(transaction).run(acme, (context) => {
        kept.context = context;
      });
      const late = kept.context?.owe(parcel, { key: [bench.id, "late"], input: { to: "a" } });
      ok(hasCode(await failure(Promise.resolve(late)), "TRANSACTION_CLOSED"));
    });
    const late = bench.app
      .within(kept.transaction as OwnTransaction)
      .run(acme, ({ owe }) => owe(parcel, { key: [bench.id, "late"], input: { to: "a" } }));
    ok(hasCode(await failure(late), "TRANSACTION_CLOSED"));
    deepEqual(await bench.owed(), []);
  },
};
