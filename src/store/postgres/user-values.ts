import type { SqlValue } from "../../domain/sql.ts";

/**
 * A column as a user's tool read it, as near to what the engine's own driver makes of it as can be. Where
 * the adapter had it read by the statement's types, it is that already.
 *
 * @example
 * ```ts
 * readColumn(3n); // 3
 * readColumn(new Date(0)); // "1970-01-01T00:00:00.000Z"
 * readColumn({ a: [1] }); // '{"a":[1]}'
 * ```
 */
export function readColumn(value: unknown): SqlValue {
  if (value === null || value === undefined) return null;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value !== "object") return value as SqlValue;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return new Uint8Array(value);
  // Decimals of an arbitrary precision library.
  if (isDecimal(value)) return value.toFixed();
  return JSON.stringify(value);
}

function isDecimal(value: object): value is { toFixed(): string } {
  return "toFixed" in value && typeof value.toFixed === "function";
}
