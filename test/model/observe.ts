/**
 * Lets the reference follow what the processes did: it decides each event in the order in which they say
 * that they decided it, and must come to the same.
 */
import type { TelemetryEvent } from "counterfoil";
import { expect } from "vitest";
import type { Sent } from "./facts.ts";
import type { Response } from "./process.ts";
import { keyOf, type ModelOutcome, type ModelReceipt, type Reference } from "./reference.ts";
import type { World } from "./world.ts";

/** A delivery and what its sender was answered. */
export interface Exchange {
  readonly sent: Sent;
  readonly response: Response;
}

/** What an operator chose for an event whose decision is told next. */
export type Choice = "run" | "keep" | "take";

type Of<Kind extends TelemetryEvent["kind"]> = Extract<TelemetryEvent, { readonly kind: Kind }>;

export function observe(world: World, exchanges: readonly Exchange[] = [], choice: Choice = "run"): void {
  const waiting = [...exchanges];
  for (const event of freshFirst(world.telemetry.read())) {
    if (event.kind === "delivery.answered" || event.kind === "delivery.failed") {
      expectTold(world, takeFirst(waiting, event));
    }
    if (event.kind === "event.decided") expectDecided(world, event, choice);
  }
  // Nothing is told of a forged delivery but that it was refused.
  for (const exchange of waiting) {
    expect(exchange.sent.forged, `nobody told of ${exchange.sent.eventId}`).toBe(true);
    expectTold(world, exchange);
  }
}

/** Of copies that came at once the fresh one was decided first, whichever process told of its own sooner. */
function freshFirst(events: readonly TelemetryEvent[]): readonly TelemetryEvent[] {
  const ordered: TelemetryEvent[] = [];
  for (const event of events) {
    const isFresh = event.kind === "delivery.answered" && !event.duplicate;
    const copy = isFresh ? ordered.findIndex((other) => isCopyOf(other, event)) : -1;
    ordered.splice(copy === -1 ? ordered.length : copy, 0, event);
  }
  return ordered;
}

function isCopyOf(event: TelemetryEvent, { connection, account, eventId }: Of<"delivery.answered">): boolean {
  if (event.kind !== "delivery.answered" || !event.duplicate) return false;
  return event.connection === connection && event.account === account && event.eventId === eventId;
}

/** Of deliveries of one event, the first whose answer is the one that is told of. */
function takeFirst(waiting: Exchange[], event: Of<"delivery.answered"> | Of<"delivery.failed">): Exchange {
  const index = waiting.findIndex(({ sent: { scope, eventId, forged }, response }) => {
    if (forged || eventId !== event.eventId || scope.connection !== event.connection) return false;
    if (event.kind === "delivery.failed") return response.status >= 500;
    const { outcome, mismatch = false } = response.body as { readonly outcome?: string; readonly mismatch?: true };
    if (scope.account !== event.account || response.status >= 500) return false;
    return (outcome === "duplicate") === event.duplicate && mismatch === event.mismatch;
  });
  const [exchange] = index === -1 ? [] : waiting.splice(index, 1);
  if (!exchange) throw new Error(`Something was told of a delivery that nobody sent: ${event.eventId}`);
  return exchange;
}

function expectTold({ reference }: World, { sent, response }: Exchange): void {
  const { scope, eventId } = sent;
  const told = reference.deliver(sent);
  const what = `the answer to ${eventId} of ${scope.connection} ${scope.account}`;
  // A worker may tell of its decision sooner than the receiver of the answer that was made before it.
  const first = scope.isLater && (response.body as { readonly first?: string }).first === "queued";
  const body = first && told.body?.first ? { ...told.body, first: "queued" } : told.body;
  expect(response.status, what).toBe(body === told.body ? told.status : 202);
  if (body) expect(response.body, what).toEqual(body);
}

function expectDecided({ reference, telemetry }: World, event: Of<"event.decided">, choice: Choice): void {
  const { connection, account, eventId, outcome, by } = event;
  const receipt = reference.receipts.get(keyOf({ connection, account }, eventId));
  if (!receipt) throw new Error(`Something was decided of an event that nobody sent: ${eventId}`);
  const before = receipt.outcome;
  if (choice !== "keep") expect(reference.inFront(receipt), `overtaken by ${eventId} of ${connection}`).toBeUndefined();
  const after = decided(reference, receipt, by === "operator" ? choice : "run");
  expect(outcome, `${eventId} of ${connection} ${account}, decided by ${by}, was ${before}`).toBe(after);
  if (before === "held" && after === "applied") telemetry.counts["held, then applied"] += 1;
  if (before === "queued") telemetry.counts["queued, then decided"] += 1;
  if (before === "queued" && receipt.stood) telemetry.counts["decided behind others of its line"] += 1;
}

function decided(reference: Reference, receipt: ModelReceipt, choice: Choice): ModelOutcome {
  if (choice === "keep") receipt.outcome = "resolved";
  else reference.rerun(receipt, { take: choice === "take" });
  return receipt.outcome;
}
