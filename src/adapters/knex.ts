import type { SqlValue } from "../domain/sql.ts";
import type { UserTransaction } from "../domain/user-transaction.ts";

/** What is used of the `trx` of Knex on `pg`. */
export interface KnexTransaction {
  raw(text: string, values: never): { options(options: never): PromiseLike<unknown> };
}

interface PgResult {
  readonly rows: Readonly<Record<string, unknown>>[];
  readonly rowCount: number | null;
}

/**
 * A transaction of Knex on `pg`: the `trx` that it hands to its callback, or that `knex.transaction()` gives.
 *
 * @example
 * ```ts no-run
 * await knex.transaction(async (trx) => {
 *   await app.within(fromKnex(trx)).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1042"));
 * });
 * ```
 */
export function fromKnex(trx: KnexTransaction & object): UserTransaction {
  return {
    handle: trx,
    query: async ({ parts, values, types }) => {
      // A question mark of the text's own is not a place for a value.
      const text = parts.map((part) => part.replaceAll("?", String.raw`\?`)).join("?");
      const raw = trx.raw(text, [...values] satisfies SqlValue[] as never);
      const { rows, rowCount } = (await raw.options({ types } as never)) as PgResult;
      return { rows, changes: rowCount ?? 0 };
    },
  };
}
