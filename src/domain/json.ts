/** Any value that JSON can express. Object members may be absent, never `undefined` in an array. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** A path of own property names and array indexes into a JSON value. */
export type JsonPath = readonly (string | number)[];

/**
 * Reads a path by own properties only, so that an inherited name such as `constructor` is a miss.
 *
 * @example
 * ```ts
 * readPath({ data: { id: "evt_1" } }, ["data", "id"]); // "evt_1"
 * readPath({}, ["constructor", "name"]); // undefined
 * ```
 */
export function readPath(value: unknown, path: JsonPath): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, step)) return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}
