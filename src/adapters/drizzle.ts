import type { UserTransaction } from "../domain/user-transaction.ts";

/** What is used of the transaction that `db.transaction` of Drizzle hands to its callback, on any driver for PostgreSQL. */
export interface DrizzleTransaction<Sql> {
  execute(query: Sql): PromiseLike<unknown>;
}

/** Drizzle's own tag, of `drizzle-orm`. */
export type DrizzleTag<Sql> = (parts: TemplateStringsArray, ...values: unknown[]) => Sql;

/** What drivers give for a statement: its rows, in `rows` or as themselves, and the types of its columns. */
interface DriverResult {
  readonly rows?: readonly Row[];
  readonly rowCount?: number | null;
  readonly count?: number;
  readonly fields?: readonly { readonly name: string; readonly dataTypeID: number }[];
  readonly columns?: readonly { readonly name: string; readonly type: number }[];
}

type Row = Readonly<Record<string, unknown>>;

/**
 * A transaction of Drizzle: the `tx` of its callback, and the `sql` of `drizzle-orm`.
 *
 * @example
 * ```ts no-run
 * await db.transaction(async (tx) => {
 *   await app.within(fromDrizzle(tx, sql)).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1042"));
 * });
 * ```
 */
export function fromDrizzle<Sql>(tx: DrizzleTransaction<Sql>, sql: DrizzleTag<Sql>): UserTransaction {
  return {
    handle: tx,
    query: async ({ parts, values, types }) => {
      const result = (await tx.execute(sql(parts, ...values))) as DriverResult;
      const oids = new Map([
        ...(result.fields ?? []).map(({ name, dataTypeID }) => [name, dataTypeID] as const),
        ...(result.columns ?? []).map(({ name, type }) => [name, type] as const),
      ]);
      // What the driver left as text is read by its type.
      const read = ([name, value]: [string, unknown]): [string, unknown] => {
        const oid = typeof value === "string" ? oids.get(name) : undefined;
        return [name, oid === undefined ? value : types.getTypeParser(oid)(value as string)];
      };
      const rows = result.rows ?? (result as readonly Row[]);
      return {
        rows: rows.map((row) => Object.fromEntries(Object.entries(row).map(read))),
        changes: result.rowCount ?? result.count ?? 0,
      };
    },
  };
}
