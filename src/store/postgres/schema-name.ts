/** Bytes of a name that PostgreSQL does not cut. */
const bytesMax = 63;

/** @throws TypeError when the schema's name cannot be one; any other spelling is quoted and works. */
export function assertSchemaName(schema: unknown): asserts schema is string {
  if (typeof schema !== "string" || schema === "") throw refused('is empty; give one such as "counterfoil"');
  // It also stands inside of strings, where statements name sequences.
  if (/[\0'\\]/.test(schema) || !schema.isWellFormed()) throw refused("has a character that cannot be quoted");
  if (Buffer.byteLength(schema) > bytesMax) throw refused(`is longer than the ${bytesMax} bytes that PostgreSQL keeps`);
  if (/^pg_/i.test(schema)) throw refused("begins with pg_, which PostgreSQL keeps for itself");
}

function refused(problem: string): TypeError {
  return new TypeError(`Cannot use a schema: its name ${problem}`);
}
