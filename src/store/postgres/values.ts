/**
 * How values travel between statements and PostgreSQL.
 *
 * Users' values go in as text of no declared type, so that the place where they stand decides what they
 * are, and bytes as bytes. Integers come back as numbers when safe, else as bigint; floating point as
 * numbers; booleans as booleans; bytes as bytes; times as ISO 8601 text; every other type as the text
 * that PostgreSQL writes, so that no digit of a NUMERIC and no byte of a JSON document is lost.
 */
import type { SqlValue } from "../../domain/sql.ts";

/** @throws TypeError naming the parameter that cannot be bound. */
export function bindValues(values: readonly SqlValue[]): SqlValue[] {
  return values.map(bindValue);
}

function bindValue(value: SqlValue, index: number): SqlValue {
  if (value === null || ["string", "bigint", "boolean"].includes(typeof value)) return value;
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  if (value instanceof Uint8Array) return value;
  // Nothing else is left by the types; a caller without them may still hand it in.
  const what = Number.isNaN(value) ? "NaN" : typeof value;
  throw new TypeError(
    `Cannot bind parameter ${index + 1}: it is ${what}; give null, a string, number, bigint, boolean or Uint8Array`,
  );
}

type Parse = (text: string) => unknown;

/** Parsers by the type's number in the catalogue, `pg_type.oid`. */
const parsers: Readonly<Record<number, Parse>> = {
  16: (text) => text === "t",
  17: readBytes,
  20: readInteger,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  1114: (text) => text.replace(" ", "T"),
  1184: readInstant,
};

/** Reads the columns of users' statements, and of ours. */
export const readTypes = {
  getTypeParser: (oid: number): Parse => parsers[oid] ?? String,
};

function readInteger(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

/** Bytes of their own, apart from the memory that the driver's buffers share. */
function readBytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex.slice(2), "hex"));
}

const instant = /^(\d{4,6}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?([+-]\d\d)(?::?(\d\d))?$/;

/** An instant in UTC; what PostgreSQL knows of microseconds stays. What has no ISO form comes as it is. */
function readInstant(text: string): string {
  const [, date, time, fraction = "", hours, minutes = "00"] = instant.exec(text) ?? [];
  if (date === undefined || date.length > 10) return text;
  const seconds = new Date(`${date}T${time}${hours}:${minutes}`).toISOString().slice(0, 19);
  return `${seconds}.${fraction.padEnd(3, "0")}Z`;
}

/** Free text as a column can hold it: PostgreSQL has no NUL in text. */
export function plain<Text extends string | null>(text: Text): Text {
  return (text?.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text) as Text;
}
