/** What can be bound to a statement. Dates travel as ISO text; `undefined` is refused. */
export type SqlValue = null | string | number | bigint | boolean | Uint8Array;

/** Rows, and how many rows the statement changed. */
export interface SqlResult<Row> extends ReadonlyArray<Row> {
  readonly changes: number;
}

/** The open transaction. A failed statement poisons it; transaction control is refused. */
export interface Tx {
  /**
   * Runs a statement with its values bound, never spliced. Integers come back as numbers when safe,
   * else as bigint; booleans go in as 0 and 1 on SQLite.
   */
  sql<Row extends object = Readonly<Record<string, SqlValue>>>(
    text: TemplateStringsArray,
    ...values: readonly (SqlValue | Date)[]
  ): Promise<SqlResult<Row>>;
  /** The driver's own handle, guarded: its BEGIN, COMMIT and ROLLBACK become savepoints. */
  readonly native: unknown;
}

/** Runs a statement whose text was built from declared identifiers; carried by every `Tx` of ours. */
export const runText: unique symbol = Symbol("counterfoil.runText");

export interface InternalTx extends Tx {
  readonly [runText]: (
    text: string,
    values: readonly SqlValue[],
  ) => Promise<SqlResult<Readonly<Record<string, SqlValue>>>>;
}
