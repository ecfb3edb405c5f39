/**
 * A transaction that the user's own tool has begun, as Counterfoil works in it.
 *
 * Tools differ in how they bind values and read columns, and Counterfoil knows none of them: an adapter
 * of a few lines hands each statement over to its tool. What an adapter must do, `exerciseAdapter` of
 * `counterfoil/testing` checks on a real server.
 */
import type { SqlValue } from "./sql.ts";

/** A statement for a transaction of yours, in the spellings that tools take. */
export interface UserStatement {
  /** With `$1` for the first value, `$2` for the second: each once, in order. */
  readonly text: string;
  /** The text around the values, for tools with a tag: `sql(parts, ...values)`. */
  readonly parts: TemplateStringsArray;
  readonly values: readonly SqlValue[];
  /** Whether it gives rows, for tools that have one call for rows and another for counts. */
  readonly returnsRows: boolean;
  /** How a column is read from the server's text, by the number of its type; `pg` takes it as its `types`. */
  readonly types: { readonly getTypeParser: (oid: number) => (text: string) => unknown };
}

/** What a tool gave for a statement. */
export interface UserResult {
  /** By column name; read by the statement's `types` where the tool allows it, else as the tool reads them. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** How many rows a statement changed that returns none. */
  readonly changes: number;
}

/**
 * A transaction begun by your own tool: `fromPg`, `fromDrizzle` and others of `counterfoil/adapters` make
 * one, and so can you.
 *
 * @example
 * ```ts no-run
 * const mine: UserTransaction = {
 *   handle: tx,
 *   query: async ({ text, values }) => {
 *     const { rows, count } = await tx.run(text, values);
 *     return { rows, changes: count };
 *   },
 * };
 * ```
 */
export interface UserTransaction {
  /** What stands for the transaction: always the same object for the same one, and never for two at once. */
  readonly handle: object;
  /**
   * Runs one statement on the transaction's own connection, values bound. A text binds as text of no
   * declared type, as `pg` does, so that the place where it stands decides what it is.
   */
  readonly query: (statement: UserStatement) => Promise<UserResult>;
  /** The server's five-character code in an error of the tool's; unless given, `code` of the error or of what caused it. */
  readonly sqlState?: (error: unknown) => string | undefined;
}
