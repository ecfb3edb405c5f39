/**
 * What the command line shows of each thing, by name: the shape of `--json`, and the columns of text.
 * Only what is listed gets out; times are ISO 8601.
 */
import type { Instant } from "../domain/instant.ts";
import type { Attempt, Obligation } from "../domain/obligation.ts";
import type { Receipt } from "../domain/receipt.ts";
import type { RecordedAudit } from "../store/reader.ts";
import type { ListedRefresh } from "../store/refresh-pages.ts";
import type { RefusalFacts } from "../store/store.ts";
import type { Cell } from "./table.ts";

/** Field names and values in the order in which they are shown. */
export type ShownRecord = Readonly<Record<string, Cell>>;

export function receiptRecord(receipt: Receipt): ShownRecord {
  return {
    id: receipt.id,
    connection: receipt.connection,
    account: receipt.account,
    eventId: receipt.eventId,
    tenant: receipt.tenant,
    type: receipt.type,
    outcome: receipt.outcome,
    reason: receipt.reason,
    receivedAt: isoTime(receipt.receivedAt),
    decidedAt: isoTime(receipt.decidedAt),
    deliveries: receipt.deliveries,
    tries: receipt.tries,
    starts: receipt.starts,
    dueAt: isoTime(receipt.dueAt),
    deadlineAt: isoTime(receipt.deadlineAt),
    version: receipt.version,
    digest: receipt.digest,
    secretId: receipt.secretId,
  };
}

export function obligationRecord(obligation: Obligation): ShownRecord {
  return {
    id: obligation.id,
    tenant: obligation.tenant,
    operationKey: obligation.operationKey,
    effect: obligation.effect,
    destination: obligation.destination,
    state: obligation.state,
    reached: obligation.reached,
    reason: obligation.reason,
    dueAt: isoTime(obligation.dueAt),
    notBefore: isoTime(obligation.notBefore),
    orderKey: obligation.orderKey,
    cancelRequested: obligation.cancelRequested,
    tries: obligation.tries,
    lookups: obligation.lookups,
    crashes: obligation.crashes,
    fence: obligation.fence,
    generation: obligation.generation,
    keySince: isoTime(obligation.keySince?.wallMs ?? null),
    lastCallEndedAt: isoTime(obligation.lastCallEndedAt?.wallMs ?? null),
    connection: obligation.connection,
    account: obligation.account,
    receiptId: obligation.receiptId,
    createdAt: isoTime(obligation.createdAt),
    updatedAt: isoTime(obligation.updatedAt),
  };
}

export function attemptRecord(attempt: Attempt): ShownRecord {
  return {
    fence: attempt.fence,
    kind: attempt.kind,
    generation: attempt.generation,
    startedAt: isoTime(attempt.startedAt),
    endedAt: isoTime(attempt.endedAt),
    verdict: attempt.verdict,
    phase: attempt.phase,
    status: attempt.status,
    cause: attempt.cause,
    worker: attempt.worker,
  };
}

export function auditRecord(audit: RecordedAudit): ShownRecord {
  const { at, who, action, why, before, after } = audit;
  return { at: isoTime(at), who, action, why, before, after };
}

export function refreshRecord(refresh: ListedRefresh): ShownRecord {
  const { connection, account, kind, id, tenant, running, dueAt, tries, ticket, reason, updatedAt, cursor } = refresh;
  const state = running ? "running" : dueAt === null ? "failed" : "waiting";
  const shown = { connection, account, kind, id, tenant, state, tries, ticket, reason };
  return { ...shown, dueAt: isoTime(dueAt), updatedAt: isoTime(updatedAt), cursor };
}

export function refusalRecord({ at, connection, cause, facts }: RefusalFacts): ShownRecord {
  return { at: isoTime(at), connection, cause, facts };
}

/** ISO 8601 in UTC; `null` stays. */
export function isoTime(instant: Instant | null): string | null {
  return instant === null ? null : new Date(instant).toISOString();
}
