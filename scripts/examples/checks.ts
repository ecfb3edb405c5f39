import { deepStrictEqual, ok, rejects } from "node:assert/strict";

export function equal(actual: unknown, expected: unknown): void {
  deepStrictEqual(actual, expected);
}

/** The value, as text, has this part. */
export function contains(actual: unknown, part: string): void {
  ok(String(actual).includes(part), `${String(actual)} does not contain ${part}`);
}

/** The call throws, or rejects, with an error whose "Name: message" begins so. */
export async function throws(call: () => Promise<unknown>, start: string): Promise<void> {
  await rejects(call, (error) => {
    ok(String(error).startsWith(start), `${String(error)} does not begin with ${start}`);
    return true;
  });
}
