import { CounterfoilError } from "../domain/errors.ts";
import type { Instant } from "../domain/instant.ts";
import { secretId } from "../verify/keyring.ts";

/** A secret with the time of its end, such as the old one of a rotation, or a certificate's key. */
export interface EndingSecret {
  /** Skipped, like a bare one, where it is `undefined`. */
  readonly secret: string | undefined;
  /**
   * ISO 8601, with its zone where it has a time. A week before, where no other secret lasts longer, and from
   * then on, `onAttention` and `doctor` tell of it; it is accepted for as long as it stands in the configuration.
   */
  readonly until: string;
}

/** A secret as the configuration gives it. */
export type GivenSecret = string | undefined | EndingSecret;

const isoPattern = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** The bare secrets. */
export function bareSecrets(given: readonly GivenSecret[]): readonly (string | undefined)[] {
  return given.map((each) => (typeof each === "object" ? each.secret : each));
}

/** When secrets end, by their ids; throws CONFIG_INVALID for an end that is no time. */
export function secretEnds(
  connection: string,
  given: readonly GivenSecret[],
): readonly { readonly id: string; readonly until: Instant }[] {
  return given.flatMap((each) => {
    if (typeof each !== "object") return [];
    const until = isoPattern.test(each.until) ? Date.parse(each.until) : Number.NaN;
    if (Number.isNaN(until)) {
      const message = `Cannot use connection "${connection}": a secret's until is no time; write such as 2027-01-31 or 2027-01-31T12:00:00Z`;
      throw new CounterfoilError("CONFIG_INVALID", message);
    }
    return each.secret === undefined ? [] : [{ id: secretId(each.secret), until }];
  });
}
