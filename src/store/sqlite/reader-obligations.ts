/** Reads of obligations, for operators. */
import type { Obligation } from "../../domain/obligation.ts";
import { auditTarget } from "../audit-target.ts";
import { holdingStates, holdsUp } from "../order-states.ts";
import { pageOf, whereSet, type Condition } from "../page.ts";
import type { ObligationDetail, ObligationFilter, Page } from "../reader.ts";
import { toAttempt, toObligation, toRequest, type AttemptRow, type ObligationRow, type RequestRow } from "../rows.ts";
import { deciding, refusalOf } from "./answers.ts";
import type { ReadHandle } from "./handle.ts";
import { liveLease } from "./moves.ts";
import { ownedPage } from "./reader-owned.ts";
import { auditOf } from "./reader-records.ts";
import { obligationColumns, requestColumns } from "./rows.ts";
import { sql } from "./statements.ts";

// Operation keys are unique within a tenant only: the unique index is walked from tenant to tenant, one
// seek each, and read from the prefix on in each.
const byKeyPrefix = `WITH RECURSIVE tenants (tenant) AS (
    SELECT min(tenant) FROM counterfoil_obligations
    UNION ALL
    SELECT (SELECT min(o.tenant) FROM counterfoil_obligations AS o WHERE o.tenant > here.tenant)
      FROM tenants AS here WHERE here.tenant IS NOT NULL)
  SELECT ${obligationColumns} FROM tenants AS t CROSS JOIN counterfoil_obligations AS o ON o.tenant = t.tenant`;

/** A page of obligations, newest first. */
export function listObligations(handle: ReadHandle, filter: ObligationFilter, page: Page): Obligation[] {
  return listed(handle, filter, page).map((row) => toObligation(row as unknown as ObligationRow));
}

function listed(
  handle: ReadHandle,
  { tenant, state, effect, keyPrefix }: ObligationFilter,
  page: Page,
): readonly Record<string, unknown>[] {
  const table = "counterfoil_obligations";
  if (tenant !== undefined && keyPrefix === undefined && (state === undefined || state === "done")) {
    const index = "sqlite_autoindex_counterfoil_obligations_1";
    const owner = { column: "tenant", value: tenant };
    const where = [...whereSet("+o.state = ?", state), ...whereSet("o.effect = ?", effect)];
    return ownedPage(handle, page, { columns: obligationColumns, table, alias: "o", index, owner, where });
  }
  // The second half lets the partial index on what is not done serve; done ones are most rows anyway.
  const byState = state === "done" ? "+o.state = ?" : "o.state = ? AND o.state <> 'done'";
  const byKey = keyPrefix !== undefined;
  const { text, values } = pageOf(page, {
    from: byKey ? byKeyPrefix : `SELECT ${obligationColumns} FROM ${table} AS o`,
    id: "o.id",
    where: [
      ...(byKey ? [startsWith(keyPrefix)] : []),
      // The plus keeps SQLite from sorting all obligations of a tenant.
      ...whereSet("+o.tenant = ?", tenant),
      ...whereSet(byKey ? "+o.state = ?" : byState, state),
      ...whereSet("o.effect = ?", effect),
    ],
  });
  return handle.database.prepare(text).all(...values);
}

/** A range of keys, which an index serves; no byte of UTF-8 text sorts after the last code point. */
function startsWith(prefix: string): Condition {
  return { text: "o.operation_key >= ? AND o.operation_key < ?", values: [prefix, `${prefix}\u{10FFFF}`] };
}

const selectObligation = sql(
  "read.obligation",
  `SELECT ${obligationColumns}, ${requestColumns}, o.lease_worker, ${liveLease} AS lease_live
   FROM counterfoil_obligations AS o LEFT JOIN counterfoil_requests AS q ON q.obligation_id = o.id
   WHERE o.tenant = ?3 AND o.operation_key = ?4`,
);

const selectAttempts = sql(
  "read.attempts",
  "SELECT * FROM counterfoil_attempts WHERE obligation_id = ? ORDER BY fence",
);

interface DetailRow extends ObligationRow {
  readonly lease_worker: string | null;
  readonly lease_live: number | null;
}

export function readObligation(handle: ReadHandle, tenant: string, operationKey: string): ObligationDetail | undefined {
  const { bootId, monotonicMs } = handle.stamp();
  const found = handle.statement(selectObligation).get(bootId, monotonicMs, tenant, operationKey);
  if (!found) return undefined;
  const row = found as unknown as DetailRow;
  const frozen = found["method"] === null ? null : (found as unknown as RequestRow);
  return {
    obligation: toObligation(row),
    input: frozen && frozen.input,
    request: frozen && toRequest(frozen),
    requestDigest: frozen && frozen.request_digest,
    attempts: handle
      .statement(selectAttempts)
      .all(row.id)
      .map((attempt) => toAttempt(attempt as unknown as AttemptRow)),
    answer: deciding(handle, row.id),
    refusal: refusalOf(handle, row.id),
    lease: row.lease_worker === null ? null : { worker: row.lease_worker, live: row.lease_live === 1 },
    waitsBehind: waitsBehind(handle, row),
    audit: auditOf(handle, auditTarget("obligation", row.id)),
  };
}

// Index counterfoil_obligations_order.
const selectFirst = sql(
  "read.order-first",
  `SELECT operation_key AS operationKey, state FROM counterfoil_obligations
   WHERE order_key = ? AND id < ? AND state IN ${holdingStates} ORDER BY id LIMIT 1`,
);

function waitsBehind(handle: ReadHandle, { id, state, order_key: orderKey }: ObligationRow): Behind {
  if (orderKey === null || !holdsUp(state)) return null;
  return (handle.statement(selectFirst).get(orderKey, id) ?? null) as Behind;
}

type Behind = ObligationDetail["waitsBehind"];
