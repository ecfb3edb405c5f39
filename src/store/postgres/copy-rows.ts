/** Statements that write and read whole units of a copy, for any table of it. */
import {
  type ColumnType,
  type CopiedRow,
  type CopiedTable,
  copiedTables,
  type TableName,
  type UnitKey,
} from "../copying.ts";
import { binaryArray } from "./relation.ts";

export interface CopyStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

function tableOf(name: TableName): CopiedTable {
  return copiedTables[name];
}

/** The type of a column's parameters. */
function wire(type: ColumnType): "int8" | "text" | "bool" | "bytea" {
  return type === "numeric" ? "text" : type;
}

/** Rows or keys as a table of the statement. */
function given(alias: string, name: TableName, columns: readonly string[]): string {
  const types = tableOf(name).columns;
  const arrays = columns.map((column, place) => `$${place + 1}::${wire(types[column] ?? "text")}[]`);
  return `unnest(${arrays.join(", ")}) AS ${alias} (${columns.join(", ")})`;
}

function arraysOf(name: TableName, columns: readonly string[], rows: readonly CopiedRow[]): readonly Buffer[] {
  const types = tableOf(name).columns;
  return columns.map((column, place) =>
    binaryArray(wire(types[column] ?? "text"), rows.map((row) => row[place] ?? null) as never),
  );
}

/** Adds rows as they are, numbers included. */
export function insertRows(name: TableName, rows: readonly CopiedRow[]): CopyStatement {
  const types = tableOf(name).columns;
  const columns = Object.keys(types);
  const values = columns.map((column) => (types[column] === "numeric" ? `g.${column}::numeric` : `g.${column}`));
  return {
    text: `INSERT INTO counterfoil.${name} (${columns.join(", ")}) OVERRIDING SYSTEM VALUE
      SELECT ${values.join(", ")} FROM ${given("g", name, columns)}`,
    values: arraysOf(name, columns, rows),
  };
}

/** Removes the rows of these units. */
export function removeRows(name: TableName, keys: readonly UnitKey[]): CopyStatement {
  const { owner } = tableOf(name);
  return {
    text: `DELETE FROM counterfoil.${name} AS t USING ${given("k", name, owner)} WHERE ${sameKey(owner)}`,
    values: arraysOf(name, owner, keys),
  };
}

/** The rows of these units. */
export function selectUnits(name: TableName, keys: readonly UnitKey[]): CopyStatement {
  const { owner } = tableOf(name);
  return {
    text: `SELECT ${selected(name)} FROM ${given("k", name, owner)} JOIN counterfoil.${name} AS t ON ${sameKey(owner)}
      ORDER BY ${ordered(name)}`,
    values: arraysOf(name, owner, keys),
  };
}

/** The rows of every unit behind one key, up to another; `null` is no bound. */
export function selectRange(name: TableName, after: UnitKey | null, upTo: UnitKey | null): CopyStatement {
  const { owner } = tableOf(name);
  const values: unknown[] = [];
  const bound = (key: UnitKey, sign: string): string => {
    const marks = key.map((value) => `$${values.push(value)}`);
    return `(${owner.map((column) => `t.${column}`).join(", ")}) ${sign} (${marks.join(", ")})`;
  };
  const bounds = [after && bound(after, ">"), upTo && bound(upTo, "<=")].filter((text) => text !== null);
  const where = bounds.length > 0 ? `WHERE ${bounds.join(" AND ")}` : "";
  return { text: `SELECT ${selected(name)} FROM counterfoil.${name} AS t ${where} ORDER BY ${ordered(name)}`, values };
}

function sameKey(owner: readonly string[]): string {
  return owner.map((column) => `t.${column} = k.${column}`).join(" AND ");
}

function ordered(name: TableName): string {
  return tableOf(name)
    .order.map((column) => `t.${column}`)
    .join(", ");
}

function selected(name: TableName): string {
  return Object.entries(tableOf(name).columns)
    .map(([column, type]) => (type === "numeric" ? `t.${column}::text AS ${column}` : `t.${column}`))
    .join(", ");
}
