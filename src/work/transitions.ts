import { type InternalTx, runText, type SqlValue, type Tx } from "../domain/sql.ts";

/** Where a state lives and which moves between its values are allowed. */
export interface TransitionOptions<State extends string> {
  readonly table: string;
  /** Column that names the row; its value is given to `move`. */
  readonly key: string;
  readonly column: string;
  /** For each state, the states it may be entered from. */
  readonly from: Readonly<Record<State, readonly State[]>>;
}

/** Whether a row moved, and if not, which state it is in; `undefined` when there is no such row. */
export type Moved<State extends string> =
  | { readonly moved: true }
  | { readonly moved: false; readonly current: State | undefined };

export interface Transitions<State extends string> {
  /** Moves one row to a state, as one conditional UPDATE, if its present state is listed for it. */
  move(tx: Tx, key: SqlValue, to: State): Promise<Moved<State>>;
}

/**
 * Declares which (from, to) pairs of a state are allowed. Everything not listed changes nothing.
 *
 * @example
 * ```ts no-run
 * const orderStatus = transitions({
 *   table: "orders", key: "id", column: "status",
 *   from: { awaiting_payment: [], paid: ["awaiting_payment"], refunded: ["awaiting_payment", "paid"] },
 * });
 * const step = await orderStatus.move(tx, "order-1", "paid");
 * if (!step.moved) return refuse(`order is ${step.current}`);
 * ```
 */
export function transitions<State extends string>(options: TransitionOptions<State>): Transitions<State> {
  const [table, key, column] = [options.table, options.key, options.column].map(identifier);
  const updates = new Map(
    (Object.entries(options.from) as [State, readonly State[]][]).map(([to, from]) => [
      to,
      {
        from,
        text: `UPDATE ${table} SET ${column} = ? WHERE ${key} = ? AND ${column} IN (${from.map(() => "?").join(", ")})`,
      },
    ]),
  );
  const read = `SELECT ${column} AS current FROM ${table} WHERE ${key} = ?`;
  return {
    async move(tx, value, to) {
      const run = (tx as InternalTx)[runText];
      const update = updates.get(to);
      if (update === undefined)
        throw new TypeError(`Cannot move to "${to}": it is not a declared state of ${options.table}`);
      const { changes } =
        update.from.length === 0 ? { changes: 0 } : await run(update.text, [to, value, ...update.from]);
      if (changes > 0) return { moved: true };
      const [row] = await run(read, [value]);
      return { moved: false, current: row?.["current"] as State | undefined };
    },
  };
}

function identifier(name: string): string {
  if (!/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$/.test(name))
    throw new TypeError(`Cannot use "${name}" as a table or column name`);
  return name
    .split(".")
    .map((part) => `"${part}"`)
    .join(".");
}
