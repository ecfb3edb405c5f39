import { Misuse } from "../domain/misuse.ts";

/**
 * The decimal text of a revision.
 *
 * @throws TypeError when it is no integer: a timestamp, a fraction or a number that lost digits.
 * @example
 * ```ts
 * revisionText(7); // "7"
 * revisionText("18446744073709551616"); // "18446744073709551616"
 * ```
 */
export function revisionText(revision: number | bigint | string): string {
  if (typeof revision === "number" && !Number.isSafeInteger(revision)) {
    throw new Misuse("Cannot use this number as a revision: it is no exact integer; pass its digits as text");
  }
  const text = String(revision);
  if (!/^-?\d{1,255}$/.test(text)) {
    throw new Misuse("Cannot use this revision: it is no integer; a timestamp is not a revision");
  }
  return BigInt(text).toString();
}
