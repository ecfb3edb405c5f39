import type { DeliveryHeaders } from "./delivery-headers.ts";

/** What verification reads of one HTTP request. */
export interface Delivery {
  readonly headers: DeliveryHeaders;
  /** The bytes as they arrived. */
  readonly body: Uint8Array;
  /** When the request arrived at the edge, so that waiting in a queue does not age it. */
  readonly arrivedAtMs: number;
  /** By default POST. */
  readonly method?: string;
  /** Path and query as they were sent, for tokens that stand there and for signed URLs. */
  readonly target?: string;
}

/** The query with its question mark, as it came; `""` where there is none. */
export function queryOf({ target = "" }: Delivery): string {
  const at = target.indexOf("?");
  return at < 0 ? "" : target.slice(at);
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** The body's JSON as far as verification itself needs it; `undefined` where it is none. */
export function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(body)) as unknown;
  } catch {
    return undefined;
  }
}
