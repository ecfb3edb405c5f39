/** What the engine's own statements select, and the rows that only SQLite has. */
import type { StoredAnswer } from "../../domain/obligation.ts";
import { orderKeepingOutcomes } from "../../domain/outcome.ts";

export const receiptColumns: string =
  "r.id, r.connection, r.account, r.event_id, r.tenant, r.type, r.digest, r.secret_id, r.outcome, r.reason, " +
  "r.received_at, r.decided_at, r.deliveries, r.tries, r.starts, r.due_at, r.deadline_at, r.order_key, r.version";

export const obligationColumns: string =
  "o.id, o.tenant, o.operation_key, o.effect, o.destination, o.connection, o.account, o.receipt_id, o.state, " +
  "o.reached, o.fence, o.generation, o.tries, o.lookups, o.crashes, o.created_at, o.updated_at, o.due_at, " +
  "o.last_call_wall, o.last_call_monotonic, o.last_call_boot, o.key_since_wall, o.key_since_monotonic, o.key_since_boot, o.reason, " +
  "o.order_key, o.not_before, o.cancel_requested";

export const requestColumns = "q.method, q.url, q.content_type, q.body, q.digest AS request_digest, q.input";

export interface AnswerRow {
  readonly status: number | null;
  readonly body: Uint8Array | null;
  readonly truncated: number | null;
}

export function toAnswer({ status, body, truncated }: AnswerRow): StoredAnswer {
  return { status: status ?? 200, body: body ?? new Uint8Array(), truncated: truncated === 1 };
}

/** Events that keep a line, as the index on them has it, word for word. */
export function keepsLine(table: string): string {
  const outcomes = orderKeepingOutcomes.map((outcome) => `'${outcome}'`).join(", ");
  return `${table}.order_key IS NOT NULL AND ${table}.outcome IN (${outcomes})`;
}
