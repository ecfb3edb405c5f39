/**
 * Crash points, enumerated: a run reports each durable step to a {@link Probe}; the test repeats the
 * run and ends its process at the first step, the second, and so on, until a run finishes unkilled.
 *
 * The process dies by SIGKILL, as from a power switch: no exit handler, no rollback, no flush.
 */
import { writeSync } from "node:fs";
import type { Probe } from "../domain/probe.ts";

const variable = "COUNTERFOIL_KILL_AT";

/** A probe that only remembers what it was told. */
export interface PointCounter {
  readonly probe: Probe;
  /** The names reported so far, in order; a step that ran twice is there twice. */
  readonly points: readonly string[];
}

/**
 * Counts the crash points of a run without killing anything.
 *
 * @example
 * ```ts
 * const counter = countPoints();
 * counter.probe("claim.commit:before");
 * counter.points; // ["claim.commit:before"]
 * ```
 */
export function countPoints(): PointCounter {
  const points: string[] = [];
  return { points, probe: (point) => void points.push(point) };
}

/**
 * A probe that ends this process by SIGKILL on its n-th call (the first call is 1), and says on
 * standard error at which point. Nothing of the process runs afterwards.
 *
 * @throws RangeError when `n` is not a whole number above zero.
 */
export function killAt(n: number): Probe {
  if (!Number.isSafeInteger(n) || n < 1) {
    throw new RangeError(`Cannot kill at crash point ${n}: the first point is 1; give a whole number above zero`);
  }
  let calls = 0;
  return (point) => {
    calls += 1;
    if (calls !== n) return;
    writeSync(2, `killed at crash point ${n}: ${point}\n`);
    process.kill(process.pid, "SIGKILL");
    // A signal may be delivered a moment after the call that sent it; not one more step may happen.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };
}

/**
 * The probe that an environment asks for: `COUNTERFOIL_KILL_AT=7` kills at the seventh point. Unset
 * or empty gives `undefined`.
 *
 * @throws RangeError when the variable is set to anything but a whole number above zero.
 * @example
 * ```ts
 * probeFrom({ COUNTERFOIL_KILL_AT: "7" }); // a probe that kills at the seventh point
 * probeFrom({}); // undefined
 * ```
 */
export function probeFrom(environment: Readonly<Record<string, string | undefined>>): Probe | undefined {
  const text = environment[variable];
  return text ? killAt(Number(text)) : undefined;
}

/** How a run under {@link killAtEveryPoint} ended. */
export type RunEnd = "killed" | "finished";

/** Settings of {@link killAtEveryPoint}. */
export interface KillAtEveryPointOptions {
  /** Runs after which the enumeration gives up; a run that never finishes would otherwise repeat for ever. Default 10 000. */
  readonly runsMax?: number;
}

/**
 * Runs `run` with n = 1, 2, ... until it finishes unkilled, and gives the number of points at which
 * it was killed. `run` starts the child process with `environment` merged into its own, then checks
 * the invariants.
 *
 * @throws Error when `runsMax` runs were all killed.
 * @example
 * ```ts no-run
 * const points = await killAtEveryPoint(async ({ environment }) => {
 *   const { signal } = await receiveInChild(environment);
 *   await checkInvariants();
 *   return signal === "SIGKILL" ? "killed" : "finished";
 * });
 * ```
 */
export async function killAtEveryPoint(
  run: (turn: { readonly n: number; readonly environment: Readonly<Record<string, string>> }) => Promise<RunEnd>,
  { runsMax = 10_000 }: KillAtEveryPointOptions = {},
): Promise<number> {
  for (let n = 1; n <= runsMax; n += 1) {
    if ((await run({ n, environment: { [variable]: String(n) } })) === "finished") return n - 1;
  }
  throw new Error(`Cannot enumerate crash points: ${runsMax} runs were all killed; raise runsMax or find what repeats`);
}
