/** The headers of one delivery, as verification and identity read them. Names in any case. */
export interface DeliveryHeaders {
  /** The value, of repeated headers the first; `undefined` when absent. */
  get(name: string): string | undefined;
  /** How often the header was sent, as far as the platform can tell. */
  count(name: string): number;
}

/**
 * Reads Node's `rawHeaders`, the only view in which a repeated header is still visible: `headers`
 * joins some repeated values and silently keeps the first of others.
 *
 * @example
 * ```ts
 * headersFromRaw(["X-Id", "a", "x-id", "b"]).count("X-ID"); // 2
 * ```
 */
export function headersFromRaw(rawHeaders: readonly string[]): DeliveryHeaders {
  return {
    get(name) {
      const at = find(rawHeaders, name, 0);
      return at < 0 ? undefined : rawHeaders[at + 1];
    },
    count(name) {
      let count = 0;
      for (let at = find(rawHeaders, name, 0); at >= 0; at = find(rawHeaders, name, at + 2)) count++;
      return count;
    },
  };
}

/** Lengths are compared first: most names differ there, and lower-casing each would cost more than the rest. */
function find(rawHeaders: readonly string[], name: string, from: number): number {
  const wanted = name.toLowerCase();
  for (let at = from; at < rawHeaders.length; at += 2) {
    const candidate = rawHeaders[at];
    if (candidate !== undefined && candidate.length === wanted.length && candidate.toLowerCase() === wanted) return at;
  }
  return -1;
}

/**
 * Reads the headers of a fetch `Request`. These arrive merged (`"a, b"`), so a repeated header shows
 * only as a comma, and readers of single values refuse a comma.
 *
 * @example
 * ```ts
 * headersFromFetch(new Headers({ "x-id": "a" })).get("X-Id"); // "a"
 * ```
 */
export function headersFromFetch(headers: Headers): DeliveryHeaders {
  return {
    get: (name) => headers.get(name) ?? undefined,
    count: (name) => (headers.has(name) ? 1 : 0),
  };
}
