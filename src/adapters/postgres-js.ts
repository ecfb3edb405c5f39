import type { SqlValue } from "../domain/sql.ts";
import type { UserTransaction } from "../domain/user-transaction.ts";

/** What is used of the `sql` that `sql.begin` of postgres.js hands to its callback. */
export interface PostgresJsTransaction {
  unsafe(text: string, values: never[]): { raw(): PromiseLike<RawRows> };
  typed(value: string, oid: number): unknown;
}

interface RawRows extends ReadonlyArray<readonly (Uint8Array | null)[]> {
  readonly columns: readonly { readonly name: string; readonly type: number }[];
  readonly count: number;
}

/** The type of a literal whose place decides what it is; a type that postgres.js would convert for is not asked for. */
const unknownType = 705;

/**
 * A transaction of postgres.js: the `sql` of its callback. Whatever statement of it fails, also one whose
 * error was caught, postgres.js rolls the whole transaction back at its end.
 *
 * @example
 * ```ts no-run
 * await sql.begin(async (tx) => {
 *   await app.within(fromPostgresJs(tx)).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1042"));
 * });
 * ```
 */
export function fromPostgresJs(tx: PostgresJsTransaction): UserTransaction {
  const bound = (value: SqlValue): unknown =>
    value === null || value instanceof Uint8Array ? value : tx.typed(String(value), unknownType);
  return {
    handle: tx,
    query: async ({ text, values, types }) => {
      const rows = await tx.unsafe(text, values.map(bound) as never[]).raw();
      const read = (cell: Uint8Array | null, index: number): unknown =>
        cell && types.getTypeParser(rows.columns[index]?.type ?? 0)(new TextDecoder().decode(cell));
      return {
        rows: rows.map((cells) =>
          Object.fromEntries(cells.map((cell, index) => [rows.columns[index]?.name ?? "", read(cell, index)] as const)),
        ),
        changes: rows.count,
      };
    },
  };
}
