/**
 * Rows of ours as a table of one statement: an array for each column, unnested side by side, so that a
 * batch of any size is one statement with one plan.
 *
 * Arrays travel in the server's binary form: nothing in them is quoted, and bytes are not spelled out.
 */
interface ValueOf {
  readonly text: string;
  readonly int8: number;
  readonly bool: boolean;
  readonly bytea: Uint8Array;
}

type ColumnType = keyof ValueOf;

const types: { readonly [Type in ColumnType]: Encoding<ValueOf[Type]> } = {
  text: { oid: 25, size: textSize, write: writeText },
  int8: { oid: 20, size: () => 8, write: writeInteger },
  bool: { oid: 16, size: () => 1, write: writeBoolean },
  bytea: { oid: 17, size: ({ length }) => length, write: writeBytes },
};

type RowOf<Columns extends Readonly<Record<string, ColumnType>>> = {
  readonly [Name in keyof Columns]: ValueOf[Columns[Name]] | null;
};

/** A table of rows that come as parameters. */
export interface Relation<Row> {
  /** For a FROM clause; the column `ord` counts the rows from 1. */
  readonly from: string;
  /** The parameters, in order. */
  readonly values: (rows: readonly Row[]) => Buffer[];
}

/**
 * Declares the columns; their parameters begin after the first `after` ones.
 *
 * @example
 * ```ts
 * relation("g", { id: "int8", why: "text" }, 1).from;
 * // "unnest($2::int8[], $3::text[]) WITH ORDINALITY AS g (id, why, ord)"
 * ```
 */
export function relation<const Columns extends Readonly<Record<string, ColumnType>>>(
  name: string,
  columns: Columns,
  after = 0,
): Relation<RowOf<Columns>> {
  const entries = Object.entries(columns);
  const arrays = entries.map(([, type], index) => `$${after + index + 1}::${type}[]`);
  return {
    from: `unnest(${arrays.join(", ")}) WITH ORDINALITY AS ${name} (${[...Object.keys(columns), "ord"].join(", ")})`,
    values: (rows) =>
      entries.map(([column, type]) =>
        binaryArray(
          type,
          rows.map((row) => row[column] ?? null),
        ),
      ),
  };
}

/** One array of the server's binary form, as `array_recv` reads it. */
export function binaryArray<Type extends ColumnType>(type: Type, values: readonly (ValueOf[Type] | null)[]): Buffer {
  const { oid, size, write } = types[type];
  if (values.length === 0) return header([0, 0, oid]);
  const sizes = values.map((value) => (value === null ? 0 : size(value)));
  const buffer = Buffer.allocUnsafe(sizes.reduce((sum, each) => sum + each + 4, 20));
  header([1, values.includes(null) ? 1 : 0, oid, values.length, 1]).copy(buffer);
  let at = 20;
  for (const [index, value] of values.entries()) {
    const length = sizes[index] ?? 0;
    at = buffer.writeInt32BE(value === null ? -1 : length, at);
    if (value !== null) write(buffer, value, at);
    at += length;
  }
  return buffer;
}

interface Encoding<Value> {
  readonly oid: number;
  readonly size: (value: Value) => number;
  readonly write: (buffer: Buffer, value: Value, at: number) => void;
}

function header(words: readonly number[]): Buffer {
  const buffer = Buffer.allocUnsafe(4 * words.length);
  for (const [index, word] of words.entries()) buffer.writeInt32BE(word, 4 * index);
  return buffer;
}

function textSize(text: string): number {
  return Buffer.byteLength(text);
}

function writeText(buffer: Buffer, text: string, at: number): void {
  buffer.write(text, at);
}

function writeInteger(buffer: Buffer, value: number, at: number): void {
  buffer.writeBigInt64BE(BigInt(value), at);
}

function writeBoolean(buffer: Buffer, value: boolean, at: number): void {
  buffer.writeUInt8(value ? 1 : 0, at);
}

function writeBytes(buffer: Buffer, bytes: Uint8Array, at: number): void {
  buffer.set(bytes, at);
}
