/**
 * Verification: bytes in, verdict out. It never throws on input, never changes a byte of it, and has no
 * way from "could not verify" to "verified".
 *
 * Every key of every scheme is tried whether or not an earlier one matched, and digests are compared in
 * constant time, so that the time of an answer does not tell which secret matched or how close a guess came.
 */
import type { Delivery } from "./delivery.ts";
import { gatherFacts } from "./gather-facts.ts";
import type { KeyedScheme, Keyring } from "./keyring.ts";
import { miss, type Miss, refusalCauses, type Verdict, type Verified } from "./verdict.ts";
import { verifyFields } from "./verify-fields.ts";
import { verifyHeader } from "./verify-header.ts";
import { verifyJws } from "./verify-jws.ts";
import { verifyToken } from "./verify-token.ts";

export type { Delivery } from "./delivery.ts";

/**
 * Verifies a delivery against a connection's keyring, by the keys that are at hand.
 *
 * @example
 * ```ts no-run
 * const verdict = verify(keyring, { headers: headersFromRaw(request.rawHeaders), body, arrivedAtMs: Date.now() });
 * if (verdict.kind === "refused") refusals.add(verdict.cause, verdict.facts);
 * ```
 */
export function verify(keyring: Keyring, delivery: Delivery): Verdict {
  return verdictOf(keyring, delivery, look(keyring, delivery));
}

/** The same, and where a key has to be fetched first, a promise of the verdict: all others stay without a wait. */
export function verifyFetching(keyring: Keyring, delivery: Delivery): Verdict | Promise<Verdict> {
  const found = look(keyring, delivery);
  if (found.kind === "verified" || found.wanted === undefined) return verdictOf(keyring, delivery, found);
  return fetchKey(keyring, found.wanted, delivery.arrivedAtMs).then(() => verify(keyring, delivery));
}

async function fetchKey({ entries }: Keyring, name: string, nowMs: number): Promise<void> {
  for (const entry of entries) {
    if (entry.kind === "certified") await entry.certificates.fetch(name, nowMs);
    if (entry.kind === "jws") await entry.fetched?.fetch(name, nowMs);
  }
}

function look(keyring: Keyring, delivery: Delivery): Verified | Miss {
  let match: Verified | undefined;
  let furthest: Miss = miss("no_usable_secret");
  for (const entry of keyring.entries) {
    const found = lookBy(entry, delivery, keyring.publicUrl);
    if (found.kind === "verified") match ??= found;
    else if (rank(found) > rank(furthest)) furthest = found;
  }
  return match ?? furthest;
}

function lookBy(entry: KeyedScheme, delivery: Delivery, publicUrl: string | undefined): Verified | Miss {
  switch (entry.kind) {
    case "token":
      return verifyToken(entry, delivery);
    case "fields":
      return verifyFields(entry, delivery);
    case "jws":
      return verifyJws(entry, delivery, publicUrl);
    case "hmac":
    case "public":
    case "certified":
      return verifyHeader(entry, delivery, publicUrl);
  }
}

function verdictOf(keyring: Keyring, delivery: Delivery, found: Verified | Miss): Verdict {
  if (found.kind === "verified") return found;
  return { kind: "refused", cause: found.cause, facts: gatherFacts(keyring, { ...delivery, ...found }) };
}

function rank({ cause }: Miss): number {
  return refusalCauses.indexOf(cause);
}
