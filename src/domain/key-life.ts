/** The idempotency key of an obligation: what goes over the wire, and how long it may be used. */
import { sha256 } from "./digest.ts";
import { elapsedMs, type Stamp } from "./instant.ts";

const prefix = "cf-";

/**
 * How a key is written, where a provider does not take any text: `uuid` for those that take nothing else
 * (the form of version 4, RFC 9562), `compact` for those that take few characters and tell cases apart.
 */
export type KeyForm = "text" | "uuid" | "compact";

/** The fewest characters of a form: no fewer than 116 bits of the digest remain. */
const lengthsMin: Readonly<Record<KeyForm, number>> = { text: 32, uuid: 36, compact: 22 };

/** What a wire key is derived from. */
export interface WireKeyParts {
  readonly tenant: string;
  readonly operationKey: string;
  /** 1 for the first key of an obligation; a renewed key is the next number. */
  readonly generation: number;
  /** The longest key that the provider takes, in characters. Default 255; at least what `form` needs. */
  readonly lengthMax?: number | undefined;
  /** Default `text`. */
  readonly form?: KeyForm | undefined;
}

/**
 * The idempotency key that goes over the wire: `cf-` and the SHA-256 of its parts in lower-case hex,
 * cut to what the provider takes.
 *
 * This derivation must never change: a key that differs after an upgrade would repeat every effect
 * that was under way. A digest rather than a readable name, because a provider may fold case, trim, or
 * refuse characters, and two names must not become one there; because a name may hold personal data
 * that does not belong in a provider's logs; and because it has one length. The parts are framed as JSON,
 * so that no two lists of parts give the same text. At the shortest length, 116 bits remain.
 *
 * A `uuid` is the same digest with version and variant written over it; a `compact` key is its base64url.
 *
 * @throws RangeError when the generation is not a whole number above zero, or `lengthMax` is too short for the form.
 * @example
 * ```ts
 * wireKey({ tenant: "acme", operationKey: "order-1/fulfil/v1", generation: 1, lengthMax: 32 }); // "cf-edda83a9f53a1c284fdfda99e54af"
 * ```
 */
export function wireKey({ tenant, operationKey, generation, lengthMax = 255, form = "text" }: WireKeyParts): string {
  if (!Number.isSafeInteger(generation) || generation < 1) {
    throw new RangeError(`Cannot derive a wire key: generation is ${generation}, give a whole number above zero`);
  }
  const problem = keyLengthProblem({ lengthMax, form });
  if (problem !== undefined) throw new RangeError(`Cannot derive a wire key: it ${problem}`);
  const digest = sha256(JSON.stringify(["counterfoil wire key", tenant, operationKey, generation]));
  switch (form) {
    case "text":
      return (prefix + digest).slice(0, lengthMax);
    case "uuid":
      return uuidOf(digest);
    case "compact":
      return Buffer.from(digest, "hex").toString("base64url").slice(0, lengthMax);
  }
}

/** Says why no key of this form fits; `undefined` when one does. */
export function keyLengthProblem({
  lengthMax = 255,
  form = "text",
}: Pick<WireKeyParts, "lengthMax" | "form">): string | undefined {
  const lengthMin = Object.hasOwn(lengthsMin, form) ? lengthsMin[form] : undefined;
  if (lengthMin === undefined) return `has the form "${form}"; known are ${Object.keys(lengthsMin).join(", ")}`;
  if (Number.isSafeInteger(lengthMax) && lengthMax >= lengthMin) return undefined;
  return `has at most ${lengthMax} characters; at least ${lengthMin} are needed`;
}

/** The first 122 bits of a digest, around version 4 and the variant of RFC 9562. */
function uuidOf(digest: string): string {
  const variant = ((Number.parseInt(digest.slice(15, 16), 16) & 0b11) | 0b1000).toString(16);
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `4${digest.slice(12, 15)}`];
  return [...parts, `${variant}${digest.slice(16, 19)}`, digest.slice(19, 31)].join("-");
}

/** How long a provider keeps a key, and how much of that is left unused for safety. */
export interface KeyTerms {
  readonly lifetimeMs: number;
  /** At least the longest call plus the clock skew: a call that starts within the life must also land within it. */
  readonly marginMs: number;
}

/**
 * What is left of a key's life, in milliseconds; 0 when it must not be used any more.
 *
 * Life runs from the first attempt that may have reached the provider (`since`; `null` while none can
 * have), since it is then that the provider may have begun to count. The key is dead as soon as either
 * clock says so. A wall clock that reads earlier than `since` after a reboot has lost the time, and
 * with it the key: delay, never double.
 *
 * @example
 * ```ts
 * const since = { wallMs: 0, monotonicMs: 0, bootId: "a" };
 * const now = { wallMs: 60_000, monotonicMs: 90_000, bootId: "a" };
 * keyLifeMs({ since, lifetimeMs: 3_600_000, marginMs: 45_000 }, now); // 3465000
 * ```
 */
export function keyLifeMs(key: KeyTerms & { readonly since: Stamp | null }, now: Stamp): number {
  const elapsed = key.since === null ? 0 : elapsedMs(key.since, now);
  return elapsed < 0 ? 0 : Math.max(0, key.lifetimeMs - key.marginMs - elapsed);
}

/** The `keySince` of a key that is dead whatever its provider keeps: its history is lost. */
export const deadSince: Stamp = { wallMs: 0, monotonicMs: 0, bootId: "" };

/**
 * Says why key terms cannot keep a late call from outliving its key; `undefined` when they can.
 *
 * @example
 * ```ts
 * const terms = { lifetimeMs: 86_400_000, marginMs: 45_000 };
 * keyTermsProblem(terms, { callMs: 30_000, skewMs: 5_000 }); // undefined
 * ```
 */
export function keyTermsProblem(
  { lifetimeMs, marginMs }: KeyTerms,
  { callMs, skewMs }: { readonly callMs: number; readonly skewMs: number },
): string | undefined {
  if (!(marginMs >= callMs + skewMs)) {
    return `has a key margin of ${marginMs} ms, under a call of ${callMs} ms plus a skew of ${skewMs} ms`;
  }
  if (!(lifetimeMs > marginMs)) return `has a key lifetime of ${lifetimeMs} ms, not above the margin of ${marginMs} ms`;
  return undefined;
}
