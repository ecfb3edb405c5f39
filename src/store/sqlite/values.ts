/**
 * How values travel between users' statements and SQLite.
 *
 * Whole numbers are bound as INTEGER: `node:sqlite` binds every number as REAL, so that 5 would turn
 * to "5.0" where a column or an expression makes it text. Integers come back as numbers when safe,
 * else as bigint.
 */
import type { SqlValue } from "../../domain/sql.ts";

type Bound = null | number | bigint | string | Uint8Array;

/** @throws TypeError naming the parameter that cannot be bound. */
export function bindValues(values: readonly SqlValue[]): Bound[] {
  return values.map(bindValue);
}

function bindValue(value: SqlValue, index: number): Bound {
  if (typeof value === "string" || typeof value === "bigint" || value === null) return value;
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value === "number" && !Number.isNaN(value)) return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (value instanceof Uint8Array) return value;
  // Nothing else is left by the types; a caller without them may still hand it in.
  const what = Number.isNaN(value) ? "NaN" : typeof value;
  throw new TypeError(
    `Cannot bind parameter ${index + 1}: it is ${what}; give null, a string, number, bigint, boolean or Uint8Array`,
  );
}

/** Turns the bigints of freshly read rows to numbers where that loses nothing. */
export function readRows(rows: Record<string, SqlValue>[]): Record<string, SqlValue>[] {
  for (const row of rows) {
    for (const name in row) {
      const value = row[name];
      if (typeof value !== "bigint") continue;
      const number = Number(value);
      if (Number.isSafeInteger(number)) row[name] = number;
    }
  }
  return rows;
}
