import type { Verdict } from "../verify/verdict.ts";
import { type Delivery, verify } from "../verify/verify.ts";
import type { Connection } from "./connection.ts";
import { assertMediaType } from "./media-type.ts";

/**
 * What can be told of a delivery before anything in it is read: whether it is of a declared kind, and
 * whether its signature holds.
 *
 * @throws CounterfoilError MEDIA_TYPE_REFUSED.
 */
export function examine(connection: Connection, delivery: Delivery): Verdict {
  assertMediaType(connection, delivery.headers);
  return verify(connection.keyring, delivery);
}
