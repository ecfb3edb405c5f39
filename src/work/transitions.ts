import { Misuse } from "../domain/misuse.ts";
import { type InternalTx, runText, type SqlValue, type Tx } from "../domain/sql.ts";

/** Where a state lives and which moves between its values are allowed. */
export interface TransitionOptions<State extends string> {
  readonly table: string;
  /** Columns that name the row, such as tenant and id; their values are given to `move`. */
  readonly key: readonly [string, ...string[]];
  readonly column: string;
  /** For each state, the states it may be entered from. */
  readonly from: Readonly<Record<State, readonly NoInfer<State>[]>>;
}

/** Whether a row moved, and if not, which state it is in; `undefined` when there is no such row. */
export type Moved<State extends string> =
  | { readonly moved: true }
  | { readonly moved: false; readonly current: State | undefined };

/** The listed moves of one status column. */
export interface Transitions<State extends string> {
  /** Moves one row to a state, as one conditional UPDATE, if its present state is listed for it. */
  move(tx: Tx, key: readonly SqlValue[], to: State): Promise<Moved<State>>;
}

/**
 * Declares which (from, to) pairs of a state are allowed. Everything not listed changes nothing.
 *
 * @example
 * ```ts no-run
 * const orderStatus = transitions({
 *   table: "orders", key: ["tenant", "id"], column: "status",
 *   from: { awaiting_payment: [], paid: ["awaiting_payment"], refunded: ["awaiting_payment", "paid"] },
 * });
 * const step = await orderStatus.move(tx, ["acme", "order-1"], "paid");
 * if (!step.moved) return refuse(`order is ${step.current}`);
 * ```
 */
export function transitions<State extends string>(options: TransitionOptions<State>): Transitions<State> {
  const [table, column] = [options.table, options.column].map(identifier);
  const where = options.key.map((name) => `${identifier(name)} = ?`).join(" AND ");
  const read = `SELECT ${column} AS current FROM ${table} WHERE ${where}`;
  const update = (from: readonly State[]): string =>
    `UPDATE ${table} SET ${column} = ? WHERE ${where} AND ${column} IN (${from.map(() => "?").join(", ")})`;
  return {
    async move(tx, key, to) {
      const internal = tx as InternalTx;
      const from = Object.hasOwn(options.from, to) ? options.from[to] : undefined;
      if (from === undefined) {
        throw new Misuse(`Cannot move a row of ${options.table}: the state to move to is not a declared one`);
      }
      if (from.length > 0) {
        const { changes } = await internal[runText](update(from), [to, ...key, ...from]);
        if (changes > 0) return { moved: true };
      }
      const [row] = await internal[runText](read, key);
      return { moved: false, current: row?.["current"] as State | undefined };
    },
  };
}

function identifier(name: string): string {
  if (!/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$/.test(name)) {
    throw new Misuse(`Cannot use "${name}" as a table or column name`);
  }
  return name
    .split(".")
    .map((part) => `"${part}"`)
    .join(".");
}
