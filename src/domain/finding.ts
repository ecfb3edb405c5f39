/**
 * What a look at an installation found, in one sentence, and what mends it.
 *
 * - `ok`: as it should be
 * - `warning`: it works, and is worth a look
 * - `failure`: it cannot work, or cannot keep its promises
 */
export interface Finding {
  /** What was looked at, such as `secrets` or `disk`. */
  readonly subject: string;
  readonly level: "ok" | "warning" | "failure";
  readonly says: string;
  /** What to do; `null` where nothing is to be done. */
  readonly mend: string | null;
}

/** A finding that is as it should be. */
export function ok(subject: string, says: string): Finding {
  return { subject, level: "ok", says, mend: null };
}

/** A finding that works and is worth a look. */
export function warning(subject: string, says: string, mend: string): Finding {
  return { subject, level: "warning", says, mend };
}

/** A finding that cannot go on as it is. */
export function failure(subject: string, says: string, mend: string): Finding {
  return { subject, level: "failure", says, mend };
}
