import type { UserTransaction } from "../domain/user-transaction.ts";

/** What is used of the `trx` that Kysely hands to `db.transaction().execute`. */
export interface KyselyTransaction<Executor> {
  withoutPlugins(): Executor;
}

/** Kysely's own tag, of `kysely`. */
export type KyselyTag<Executor> = (
  parts: TemplateStringsArray,
  ...values: unknown[]
) => {
  execute(executor: Executor): Promise<{ readonly rows: unknown[]; readonly numAffectedRows?: bigint | undefined }>;
};

/**
 * A transaction of Kysely: the `trx` of its callback, and the `sql` of `kysely`.
 *
 * @example
 * ```ts no-run
 * await db.transaction().execute(async (trx) => {
 *   await app.within(fromKysely(trx, sql)).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1042"));
 * });
 * ```
 */
export function fromKysely<Executor>(trx: KyselyTransaction<Executor>, sql: KyselyTag<Executor>): UserTransaction {
  return {
    handle: trx,
    query: async ({ parts, values }) => {
      const { rows, numAffectedRows = 0n } = await sql(parts, ...values).execute(trx.withoutPlugins());
      return { rows: rows as Record<string, unknown>[], changes: Number(numAffectedRows) };
    },
  };
}
