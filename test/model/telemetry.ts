/** Hears all that the processes say of themselves: counts the rare paths, and checks what can be checked of each word. */
import type { TelemetryEvent } from "counterfoil";

/** Paths that random runs must come by; a run of the test that misses one fails. */
export const rarePaths = [
  "stale fence refused",
  "late answer used as evidence",
  "lease lost",
  "lease expired",
  "key expired",
  "park released",
  "duplicate",
  "mismatch",
  "stale snapshot",
  "tie conflict",
  "group split",
  "held, then applied",
  "queued, then decided",
  "decided behind others of its line",
  "lookup found",
  "lookup absent, then sent again",
  "forged delivery refused",
  "settled hook failed",
  "operator acted",
] as const;
export type RarePath = (typeof rarePaths)[number];

/** Adds up over many runs. */
export type RareCounts = Record<RarePath, number>;

export function noCounts(): RareCounts {
  return Object.fromEntries(rarePaths.map((path) => [path, 0])) as RareCounts;
}

export class Telemetry {
  readonly problems: string[] = [];
  readonly counts: RareCounts;
  /** Obligations that something was told of; who has looked at them empties it. */
  readonly touched: Set<number> = new Set();
  /** Destinations that are paused: nothing is claimed for them. */
  readonly #paused: Set<string> = new Set();
  #unread: TelemetryEvent[] = [];
  /** The highest fence that is known to be given, by obligation. */
  readonly #fences: Map<number, number> = new Map();

  constructor(counts: RareCounts) {
    this.counts = counts;
  }

  hear(event: TelemetryEvent): void {
    this.#unread.push(event);
    for (const path of pathsOf(event)) this.counts[path] += 1;
    if (JSON.stringify(event).includes("canary")) this.problems.push(`telemetry tells a payload: ${event.kind}`);
    if ("obligationId" in event) this.touched.add(event.obligationId);
    if (event.kind === "destination.paused") this.#paused.add(event.destination);
    if (event.kind === "operator.acted") this.#paused.delete(event.target.replace("destination/", ""));
    const problem = this.#staleEnd(event);
    if (problem !== undefined) this.problems.push(problem);
  }

  /** A worker claimed a call to this address. */
  calls(url: string): void {
    if (this.#paused.has(new URL(url).origin)) this.problems.push(`a call was claimed for a paused destination`);
  }

  /** What was said since the last time. */
  read(): readonly TelemetryEvent[] {
    const read = this.#unread;
    this.#unread = [];
    return read;
  }

  /** An end that was taken although somebody else had claimed or rescued meanwhile. */
  #staleEnd(event: TelemetryEvent): string | undefined {
    if (event.kind === "attempt.started") this.#fences.set(event.obligationId, event.fence);
    if (event.kind === "lease.expired") this.#fences.set(event.obligationId, event.fence + 1);
    if (event.kind === "operator.acted" && event.target.startsWith("obligation/")) this.#raise(event.target);
    if (event.kind !== "attempt.ended") return undefined;
    const fence = this.#fences.get(event.obligationId) ?? 0;
    return event.fence < fence ? `an end under fence ${event.fence} was taken at fence ${fence}` : undefined;
  }

  #raise(target: string): void {
    const id = Number(target.slice("obligation/".length));
    this.touched.add(id);
    this.#fences.set(id, (this.#fences.get(id) ?? 0) + 1);
  }
}

const byKind: Readonly<Partial<Record<TelemetryEvent["kind"], RarePath>>> = {
  "fence.refused": "stale fence refused",
  "evidence.used": "late answer used as evidence",
  "lease.lost": "lease lost",
  "lease.expired": "lease expired",
  "key.expired": "key expired",
  "park.released": "park released",
  "group.split": "group split",
  "operator.acted": "operator acted",
};

function pathsOf(event: TelemetryEvent): readonly RarePath[] {
  const path = byKind[event.kind];
  if (path !== undefined) return [path];
  if (event.kind === "delivery.answered") return answerPaths(event);
  if (event.kind === "event.decided") return outcomePaths(event);
  if (event.kind === "delivery.refused" && event.code === "SIGNATURE_REFUSED") return ["forged delivery refused"];
  if (event.kind !== "attempt.ended") return [];
  if (event.verdict === "hook_failed") return ["settled hook failed"];
  return event.verdict === "found" ? ["lookup found"] : [];
}

function answerPaths(answer: Extract<TelemetryEvent, { readonly kind: "delivery.answered" }>): readonly RarePath[] {
  if (!answer.duplicate) return outcomePaths(answer);
  return answer.mismatch ? ["duplicate", "mismatch"] : ["duplicate"];
}

function outcomePaths({ outcome }: { readonly outcome: string }): readonly RarePath[] {
  if (outcome === "stale") return ["stale snapshot"];
  return outcome === "conflict" ? ["tie conflict"] : [];
}
