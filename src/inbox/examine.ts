import type { Verdict } from "../verify/verdict.ts";
import { type Delivery, verifyFetching } from "../verify/verify.ts";
import type { Connection } from "./connection.ts";
import { assertMediaType } from "./media-type.ts";

/**
 * What can be told of a delivery before anything in it is read: whether it is of a declared kind, and
 * whether its signature holds. It is a promise only where a key has to be fetched first.
 *
 * @throws CounterfoilError MEDIA_TYPE_REFUSED.
 */
export function examine(connection: Connection, delivery: Delivery): Verdict | Promise<Verdict> {
  assertMediaType(connection, delivery.headers);
  return verifyFetching(connection.keyring, delivery);
}
