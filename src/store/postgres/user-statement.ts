/**
 * Statements in the spelling that goes through a user's tool.
 *
 * A user's own statement goes as it is. One of the engine's gives its rows as JSON, in one column of
 * text, and takes nothing but texts and numbers: what a tool makes of an int8, of bytes or of a column's
 * name is then of no matter to the engine.
 */
import type { SqlValue } from "../../domain/sql.ts";
import type { UserStatement } from "../../domain/user-transaction.ts";
import { arrayText, spelledArray } from "./array-text.ts";
import { type Outline, outline } from "./outline.ts";
import { readTypes } from "./values.ts";

/** A statement without its values. */
interface Shape extends Pick<UserStatement, "text" | "parts" | "returnsRows">, Pick<Outline, "command" | "isSeveral"> {
  /** For each place, the value that stands there, and whether it stands for an array. */
  readonly places: readonly { readonly index: number; readonly isArray: boolean }[];
}

export interface SpelledStatement extends Pick<Outline, "command" | "isSeveral"> {
  readonly statement: UserStatement;
}

/** A statement of the user's. */
export function usersStatement(text: string, values: readonly SqlValue[]): SpelledStatement {
  return spelled(shapeOf(text), values);
}

/** A statement of the engine's. */
export function ownStatement(text: string, values: readonly unknown[]): SpelledStatement {
  return spelled(shapeOf(inJson(text)), values);
}

/** The rows that a statement of the engine's gave. */
export function ownRows(rows: readonly Readonly<Record<string, unknown>>[]): Record<string, unknown>[] {
  return rows.map((row) => JSON.parse(String(Object.values(row)[0])) as Record<string, unknown>);
}

function spelled(shape: Shape, values: readonly unknown[]): SpelledStatement {
  const { text, parts, returnsRows, command, isSeveral } = shape;
  const bound = shape.places.map(({ index, isArray }) => {
    const value = values[index];
    return (isArray ? spelledValue(value) : value) as SqlValue;
  });
  return { command, isSeveral, statement: { text, parts, values: bound, returnsRows, types: readTypes } };
}

function spelledValue(value: unknown): unknown {
  if (value instanceof Buffer) return spelledArray(value);
  return Array.isArray(value) ? arrayText(value.map(String)) : value;
}

/** What was made of texts; those of a program are few, those that it puts together may be many. */
const rememberedMax = 1_000;
const shapes: Map<string, Shape> = new Map();
const wrapped: Map<string, string> = new Map();

function remembered<Value>(known: Map<string, Value>, text: string, make: (text: string) => Value): Value {
  let value = known.get(text);
  if (value === undefined) {
    value = make(text);
    if (known.size >= rememberedMax) known.clear();
    known.set(text, value);
  }
  return value;
}

function shapeOf(given: string): Shape {
  return remembered(shapes, given, (text) => {
    const { places, command, isSeveral, returnsRows } = outline(text);
    const cuts = [0, ...places.map(({ end }) => end)];
    const strings = cuts.map((from, index) => text.slice(from, places[index]?.at));
    return {
      text: strings.reduce((before, part, index) => `${before}$${index}${part}`),
      parts: Object.assign(strings, { raw: strings }),
      places: places.map(({ number, end }) => ({ index: number - 1, isArray: /^::\w+\[\]/.test(text.slice(end)) })),
      command,
      isSeveral,
      returnsRows,
    };
  });
}

/** Puts what gives a statement's rows as JSON around it. */
function inJson(given: string): string {
  return remembered(wrapped, given, (text) => {
    const { at, returnsRows } = outline(text);
    if (!returnsRows) return text;
    const before = text.slice(0, at).trimEnd();
    const list = before === "" ? "WITH" : `${before},`;
    return `${list} counterfoil_row AS (${text.slice(at)})
      SELECT to_json(counterfoil_row)::text AS counterfoil_row FROM counterfoil_row`;
  });
}
