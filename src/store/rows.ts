/** Rows as the statements of every engine select them, and what they become. */
import type { Stamp } from "../domain/instant.ts";
import {
  type Attempt,
  type AttemptKind,
  type AttemptVerdict,
  closedStates,
  type FrozenRequest,
  type Obligation,
  type ObligationState,
  type Reached,
} from "../domain/obligation.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Payload, Receipt } from "../domain/receipt.ts";

export interface ReceiptRow {
  readonly id: number;
  readonly connection: string;
  readonly account: string;
  readonly event_id: string;
  readonly tenant: string;
  readonly type: string;
  readonly digest: string;
  readonly secret_id: string;
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly received_at: number;
  readonly decided_at: number;
  readonly deliveries: number;
  readonly tries: number;
  readonly starts: number;
  readonly due_at: number | null;
  readonly deadline_at: number | null;
  readonly order_key: string | null;
  readonly version: number;
}

export function toReceipt(row: ReceiptRow): Receipt {
  return {
    id: row.id,
    connection: row.connection,
    account: row.account,
    eventId: row.event_id,
    tenant: row.tenant,
    type: row.type,
    digest: row.digest,
    secretId: row.secret_id,
    outcome: row.outcome,
    reason: row.reason,
    receivedAt: row.received_at,
    decidedAt: row.decided_at,
    deliveries: row.deliveries,
    tries: row.tries,
    starts: row.starts,
    dueAt: row.due_at,
    deadlineAt: row.deadline_at,
    orderKey: row.order_key,
    version: row.version,
  };
}

export interface PayloadRow {
  readonly bytes: Uint8Array | null;
  readonly headers: string | null;
}

/** `null` where an outer join found no bytes. */
export function toPayload({ bytes, headers }: PayloadRow): Payload | null {
  return bytes === null || headers === null ? null : { bytes, headers };
}

export interface ObligationRow {
  readonly id: number;
  readonly tenant: string;
  readonly operation_key: string;
  readonly effect: string;
  readonly destination: string;
  readonly connection: string;
  readonly account: string;
  readonly receipt_id: number | null;
  readonly state: ObligationState;
  readonly reached: Reached;
  readonly fence: number;
  readonly generation: number;
  readonly tries: number;
  readonly lookups: number;
  readonly crashes: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly due_at: number | null;
  readonly last_call_wall: number | null;
  readonly last_call_monotonic: number | null;
  readonly last_call_boot: string | null;
  readonly key_since_wall: number | null;
  readonly key_since_monotonic: number | null;
  readonly key_since_boot: string | null;
  readonly reason: string | null;
  readonly order_key: string | null;
  readonly not_before: number | null;
  readonly cancel_requested: number | boolean;
}

export function toObligation(row: ObligationRow): Obligation {
  return {
    id: row.id,
    tenant: row.tenant,
    operationKey: row.operation_key,
    effect: row.effect,
    destination: row.destination,
    connection: row.connection,
    account: row.account,
    receiptId: row.receipt_id,
    orderKey: row.order_key,
    notBefore: row.not_before,
    // Of what is closed it says nothing more, and not every engine keeps it.
    cancelRequested: Boolean(row.cancel_requested) && !(closedStates as readonly string[]).includes(row.state),
    state: row.state,
    reached: row.reached,
    fence: row.fence,
    generation: row.generation,
    keySince: toStamp(row.key_since_wall, row.key_since_monotonic, row.key_since_boot),
    tries: row.tries,
    lookups: row.lookups,
    crashes: row.crashes,
    lastCallEndedAt: toStamp(row.last_call_wall, row.last_call_monotonic, row.last_call_boot),
    dueAt: row.due_at,
    reason: row.reason,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toStamp(wallMs: number | null, monotonicMs: number | null, bootId: string | null): Stamp | null {
  return wallMs === null || monotonicMs === null || bootId === null ? null : { wallMs, monotonicMs, bootId };
}

export interface RequestRow {
  readonly method: string;
  readonly url: string;
  readonly content_type: string | null;
  readonly body: Uint8Array | null;
  readonly request_digest: string;
  readonly input: string;
}

export function toRequest(row: RequestRow): FrozenRequest {
  return { method: row.method, url: row.url, contentType: row.content_type, body: row.body };
}

export interface AttemptRow {
  readonly obligation_id: number;
  readonly fence: number;
  readonly kind: AttemptKind;
  readonly generation: number;
  readonly worker: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly verdict: AttemptVerdict;
  readonly phase: string | null;
  readonly status: number | null;
  readonly cause: string | null;
}

export function toAttempt(row: AttemptRow): Attempt {
  return {
    obligationId: row.obligation_id,
    fence: row.fence,
    kind: row.kind,
    generation: row.generation,
    worker: row.worker,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    verdict: row.verdict,
    phase: row.phase,
    status: row.status,
    cause: row.cause,
  };
}
