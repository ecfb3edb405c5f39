import { bodyPlan, volatileOf } from "./body-plan.ts";
import { parseBody } from "./parse-body.ts";

/**
 * Whether bytes have the content that a stored digest stands for, by the rule named in the digest, so
 * that a preset whose volatile fields changed since does not turn redeliveries into mismatches.
 * `undefined` when this version does not know the rule and cannot tell.
 *
 * @example
 * ```ts
 * const { digest } = parseBody(Buffer.from('{"id":"evt_1"}'), bodyPlan({}));
 * sameContent(digest, Buffer.from('{"id":"evt_1"}')); // true
 * ```
 */
export function sameContent(digest: string, bytes: Uint8Array): boolean | undefined {
  const volatile = volatileOf(digest.slice(0, digest.indexOf(":")));
  return volatile && parseBody(bytes, bodyPlan({ volatile })).digest === digest;
}
