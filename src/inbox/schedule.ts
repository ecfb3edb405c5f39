/** Where a decision leaves its receipt: when it is tried again, whose it becomes, how long its bytes stay. */
import { backoffMs } from "../domain/backoff.ts";
import type { Instant } from "../domain/instant.ts";
import type { Limits } from "../domain/limits.ts";
import { behindReason, type Decision, isFinal, lostReason, unmappedReason } from "../domain/outcome.ts";
import type { Random } from "../domain/random.ts";
import type { Receipt } from "../domain/receipt.ts";
import type { SettledReceipt } from "../store/store.ts";

export interface Placing {
  readonly now: Instant;
  readonly limits: Limits;
  readonly random: Random;
  /** How long this connection keeps bytes after a final outcome. */
  readonly bytesKeptMs: number;
  readonly rank: string | null;
  readonly orderKey: string | null;
}

/** What is known of a receipt before the decision; a fresh one has version 1, no tries and no starts. */
export type Before = Pick<Receipt, "id" | "version" | "tries" | "starts" | "deadlineAt" | "receivedAt">;

/** Turns a decision into the row that the store writes. */
export function place(before: Before, decision: Decision, placing: Placing): SettledReceipt {
  const tries = decision.outcome === "held" ? before.tries + 1 : before.tries;
  return {
    ...decision,
    id: before.id,
    version: before.version,
    tries,
    starts: startsAfter(before, decision),
    rank: placing.rank,
    orderKey: placing.orderKey,
    ...when(decision, { ...before, tries }, placing),
  };
}

/** A decision follows a run that ended, unless the handler did not run: put off, or given up. */
function startsAfter({ starts }: Before, { reason }: Decision): number {
  if (reason === behindReason) return Math.max(0, starts - 1);
  return reason === lostReason ? starts : 0;
}

function when(
  decision: Decision,
  { tries, deadlineAt, receivedAt }: Before,
  { now, limits, random, bytesKeptMs }: Placing,
): Pick<SettledReceipt, "dueAt" | "deadlineAt" | "bytesExpireAt"> {
  const operators = { dueAt: null, deadlineAt: null, bytesExpireAt: null };
  switch (decision.outcome) {
    case "held":
      return tries >= limits.heldTriesMax || decision.reason === lostReason
        ? operators
        : { ...operators, dueAt: now + heldDelayMs(tries, limits, random) };
    case "parked":
      return {
        dueAt: now + parkedDelayMs(now - receivedAt, limits, random),
        deadlineAt: deadlineAt ?? now + limits.parkedDeadlineMs,
        bytesExpireAt: null,
      };
    case "queued":
      if (decision.reason !== behindReason) return { ...operators, dueAt: now };
      return { ...operators, dueAt: now + parkedDelayMs(now - receivedAt, limits, random) };
    case "conflict":
    case "quarantined":
    case "suspect":
      return operators;
    case "ignored":
      if (decision.reason === unmappedReason) return operators;
      return { ...operators, bytesExpireAt: expiry(now, bytesKeptMs) };
    case "applied":
    case "stale":
    case "refused":
    case "resolved":
      return { ...operators, bytesExpireAt: expiry(now, bytesKeptMs) };
    default:
      throw new Error(`Bug: no place for ${String(decision.outcome satisfies never)}`);
  }
}

function expiry(now: Instant, keptMs: number): Instant | "now" {
  return keptMs === 0 ? "now" : now + keptMs;
}

function heldDelayMs(tries: number, { heldFirstMs: firstMs, heldMaxMs: maxMs }: Limits, random: Random): number {
  return backoffMs(tries, { firstMs, maxMs, random });
}

const parkedMaxMs = 3_600_000;

/**
 * An arrival is what releases a parked event, and the one in front what releases one behind it; without
 * that word it is tried the less often the longer it has waited.
 */
function parkedDelayMs(waitedMs: number, { parkedRetryMs }: Limits, random: Random): number {
  const delayMs = Math.max(parkedRetryMs, Math.min(waitedMs / 2, parkedMaxMs));
  return Math.round(delayMs * (1 + random() / 4));
}

/** Whether the row that `claimReceipts` wrote says the same already. */
export function standsAsClaimed(decision: Decision, bytesKeptMs: number): boolean {
  return decision.outcome === "applied" && decision.reason === null && bytesKeptMs > 0 && isFinal(decision.outcome);
}
