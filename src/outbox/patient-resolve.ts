/**
 * Keeps names that nobody answers for from delaying the others.
 *
 * The system's resolver holds a thread for as long as it waits, which nothing can cut short, and Node
 * gives it two of libuv's four threads: two dead names would stop every call that needs a connection.
 * So a name is asked for once at a time, whoever waits; and names that took longer than any call waits
 * for go in single file until they answer in time again, so that together they hold one thread.
 */
import type { LookupAddress } from "node:dns";
import type { Clock } from "../domain/clock.ts";
import type { Resolve } from "./ssrf-guard.ts";

/** Names remembered as slow; past that the oldest is forgotten, and noticed again. */
const slowNamesMax = 1_000;

/** Settings of {@link patientResolve}. */
export interface PatientOptions {
  readonly clock: Pick<Clock, "timer">;
  /** How long a call waits for a connection; a name that takes longer is slow. */
  readonly connectMs: number;
}

/** Puts the rules over a resolver. Its answers and errors come through as they are. */
export function patientResolve(resolve: Resolve, { clock, connectMs }: PatientOptions): Resolve {
  const asking = new Map<string, Promise<readonly LookupAddress[]>>();
  const slow = new Set<string>();
  let file: Promise<unknown> = Promise.resolve();

  async function ask(hostname: string): Promise<readonly LookupAddress[]> {
    let late = false;
    const cancel = clock.timer(connectMs, () => {
      late = true;
      const [oldest] = slow;
      if (slow.size >= slowNamesMax && oldest !== undefined) slow.delete(oldest);
      slow.add(hostname);
    });
    try {
      return await resolve(hostname);
    } finally {
      cancel();
      if (!late) slow.delete(hostname);
      asking.delete(hostname);
    }
  }

  return (hostname) => {
    const known = asking.get(hostname);
    if (known) return known;
    const inFile = slow.has(hostname);
    const answer = (inFile ? file : Promise.resolve()).then(() => ask(hostname));
    if (inFile) file = answer.catch(() => undefined);
    asking.set(hostname, answer);
    return answer;
  };
}
