import type { UserStatement, UserTransaction } from "../domain/user-transaction.ts";

/** What is used of a client of `pg` that is inside a transaction. */
export interface PgClient {
  query(query: {
    readonly text: string;
    readonly values: unknown[];
    readonly types: UserStatement["types"];
  }): Promise<{ readonly rows: Readonly<Record<string, unknown>>[]; readonly rowCount: number | null }>;
}

/**
 * A transaction of `pg`: the client on which you have run BEGIN.
 *
 * @example
 * ```ts no-run
 * await client.query("BEGIN");
 * await app.within(fromPg(client)).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1042"));
 * await client.query("COMMIT");
 * ```
 */
export function fromPg(client: PgClient): UserTransaction {
  return {
    handle: client,
    query: async ({ text, values, types }) => {
      const { rows, rowCount } = await client.query({ text, values: [...values], types });
      return { rows, changes: rowCount ?? 0 };
    },
  };
}
