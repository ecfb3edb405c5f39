/** The tables of a copy as queries over those of a file; each reads one unit, by the key that a table of ours begins with. */
import {
  type ColumnType,
  type CopiedRow,
  type CopiedTable,
  copiedTables,
  copiedText,
  type CopiedValue,
  type TableName,
  type UnitKind,
} from "../copying.ts";
import { decodeRevision } from "./revision.ts";
import type { Value } from "./statements.ts";

/** How a table is read where it is not one of ours under its own name and with its own columns. */
interface Reading {
  readonly from?: string;
  readonly where?: string;
  /** The order of the primary key, as an index has it. */
  readonly order?: string;
  /** Expressions of columns that have another name or place; `t` is the table. */
  readonly columns?: Readonly<Record<string, string>>;
}

/** Nothing of it moves any more: its last step stands in `obligations`. */
const isGone = "(t.state = 'done' AND t.due_at IS NULL AND t.lease_boot IS NULL)";

const stepColumns = Object.keys(copiedTables.obligations.columns).slice(
  Object.keys(copiedTables.obligations.columns).indexOf("state"),
);

const readings: Readonly<Partial<Record<TableName, Reading>>> = {
  redelivered: {
    from: "counterfoil_receipts AS t",
    where: "t.deliveries > 1",
    columns: { receipt_id: "t.id", times: "t.deliveries - 1" },
  },
  // Redeliveries are numbered by delivery, of which the first is none.
  redeliveries: { order: "t.receipt_id, t.delivery", columns: { number: "t.delivery - 1" } },
  obligations: {
    columns: Object.fromEntries(stepColumns.map((name) => [name, `CASE WHEN ${isGone} THEN t.${name} END`])),
  },
  progress: {
    from: `counterfoil_obligations AS t LEFT JOIN counterfoil_attempts AS a
      ON t.lease_boot IS NOT NULL AND a.obligation_id = t.id AND a.fence = t.fence`,
    where: `NOT ${isGone}`,
    columns: {
      obligation_id: "t.id",
      lease_kind: "a.kind",
      lease_from: "a.started_at",
      lease_until: "CASE WHEN t.lease_boot IS NOT NULL THEN 0 END",
    },
  },
  attempts: {
    where: `NOT (t.verdict = 'started' AND EXISTS (SELECT 1 FROM counterfoil_obligations AS o
      WHERE o.id = t.obligation_id AND o.fence = t.fence AND o.lease_boot IS NOT NULL))`,
  },
};

/** The rows of one unit: `?` for each value of its key. */
export function unitQuery(name: TableName): string {
  const { owner, order: ordered, columns }: CopiedTable = copiedTables[name];
  const of = expressionOf(name);
  const {
    from = `counterfoil_${name} AS t`,
    where = "true",
    order = ordered.map(of).join(", "),
  } = readings[name] ?? {};
  return `SELECT ${Object.keys(columns).map(of).join(", ")} FROM ${from}
    WHERE ${owner.map((column) => `${of(column)} = ?`).join(" AND ")} AND ${where} ORDER BY ${order}`;
}

/** How many rows a table of a copy has. */
export function countQuery(name: TableName): string {
  const { from = `counterfoil_${name} AS t`, where = "true" } = readings[name] ?? {};
  return `SELECT count(*) AS count FROM ${from} WHERE ${where}`;
}

/** The next keys of a kind, behind a key or from the first on. */
export function keysQuery(kind: UnitKind, from: "first" | "after"): string {
  const columns = copiedTables[kind].owner.join(", ");
  const marks = copiedTables[kind].owner.map(() => "?").join(", ");
  const where = from === "first" ? "true" : `(${columns}) > (${marks})`;
  return `SELECT ${columns} FROM counterfoil_${kind} WHERE ${where} ORDER BY ${columns} LIMIT +?`;
}

function expressionOf(name: TableName): (column: string) => string {
  const own = readings[name]?.columns ?? {};
  return (column) => own[column] ?? `t.${column}`;
}

/** A row's values as every engine has them. */
export function copiedRow(name: TableName, values: readonly Value[]): CopiedRow {
  return Object.values<ColumnType>(copiedTables[name].columns).map((type, place) =>
    copiedValue(type, values[place] ?? null),
  );
}

function copiedValue(type: ColumnType, value: Value): CopiedValue {
  if (value === null || value instanceof Uint8Array) return value;
  if (type === "bool") return value === 1;
  if (type === "numeric") return value === "" ? "-Infinity" : decodeRevision(String(value));
  return typeof value === "string" ? copiedText(value) : Number(value);
}
