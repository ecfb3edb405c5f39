/** What the engine's own statements select, and the rows that only PostgreSQL has. */
import type { StoredAnswer } from "../../domain/obligation.ts";
import { orderKeepingOutcomes } from "../../domain/outcome.ts";

/** With `r` and `d` as `receiptTables` names them. */
export const receiptColumns: string =
  "r.id, r.connection, r.account, r.event_id, r.tenant, r.type, r.digest, r.secret_id, r.outcome, r.reason, " +
  "r.received_at, r.decided_at, 1 + coalesce(d.times, 0) AS deliveries, r.tries, r.starts, r.due_at, r.deadline_at, r.order_key, r.version";

export const receiptTables = "counterfoil.receipts AS r LEFT JOIN counterfoil.redelivered AS d ON d.receipt_id = r.id";

const key =
  "o.id, o.tenant, o.operation_key, o.effect, o.destination, o.connection, o.account, o.receipt_id, o.created_at, " +
  "o.order_key, o.not_before";

/** What `progress` and, once done, `obligations` hold of an obligation's last step. */
const stepNames = [
  "state",
  "reached",
  "fence",
  "generation",
  "tries",
  "lookups",
  "crashes",
  "updated_at",
  "last_call_wall",
  "last_call_monotonic",
  "last_call_boot",
  "key_since_wall",
  "key_since_monotonic",
  "key_since_boot",
  "reason",
] as const;

/** Of obligations that are not done: `o` is the obligation, `p` its progress. */
export const openColumns: string = `${key}, ${stepNames.map((name) => `p.${name}`).join(", ")}, p.due_at, p.cancel_requested`;

/** Of obligations that are done. */
export const doneColumns: string = `${key}, ${stepNames.map((name) => `o.${name}`).join(", ")}, NULL::bigint AS due_at, false AS cancel_requested`;

/** Of any, from `obligationTables`. */
export const obligationColumns: string = `${key}, ${stepNames
  .map((name) => `CASE WHEN o.state IS NULL THEN p.${name} ELSE o.${name} END AS ${name}`)
  .join(", ")}, p.due_at, coalesce(p.cancel_requested, false) AS cancel_requested`;

export const obligationTables =
  "counterfoil.obligations AS o LEFT JOIN counterfoil.progress AS p ON p.obligation_id = o.id";

export const requestColumns = "q.method, q.url, q.content_type, q.body, q.digest AS request_digest, q.input";

export interface AnswerRow {
  readonly status: number | null;
  readonly body: Uint8Array | null;
  readonly truncated: boolean | null;
}

export function toAnswer({ status, body, truncated }: AnswerRow): StoredAnswer {
  return { status: status ?? 200, body: body ?? new Uint8Array(), truncated: truncated ?? false };
}

/** Events that keep a line, as the index on them has it, word for word. */
export function keepsLine(table: string): string {
  const outcomes = orderKeepingOutcomes.map((outcome) => `'${outcome}'`).join(", ");
  return `${table}.order_key IS NOT NULL AND ${table}.outcome IN (${outcomes})`;
}
