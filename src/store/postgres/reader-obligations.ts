/** Reads of obligations, for operators. */
import type { AttemptKind, Obligation } from "../../domain/obligation.ts";
import { auditTarget } from "../audit-target.ts";
import { holdingStates, holdsUp } from "../order-states.ts";
import { type Condition, pageOf, whereSet } from "../page.ts";
import type { ObligationDetail, ObligationFilter, Page } from "../reader.ts";
import { type AttemptRow, type ObligationRow, type RequestRow, toAttempt, toObligation, toRequest } from "../rows.ts";
import { decidingAnswer } from "./answers.ts";
import type { ReadHandle } from "./handle.ts";
import { ownedPage } from "./reader-owned.ts";
import { auditOf } from "./reader-records.ts";
import { type AnswerRow, obligationColumns, obligationTables, openColumns, requestColumns, toAnswer } from "./rows.ts";
import { sql } from "./statements.ts";

const any = `SELECT ${obligationColumns} FROM ${obligationTables}`;

const notDone = `SELECT ${openColumns} FROM counterfoil.progress AS p
  JOIN counterfoil.obligations AS o ON o.id = p.obligation_id`;

// Operation keys are unique within a tenant only: the unique index is walked from tenant to tenant, one
// seek each, and read from the prefix on in each.
const byKeyPrefix = `WITH RECURSIVE tenants AS (
    SELECT min(tenant) AS tenant FROM counterfoil.obligations
    UNION ALL
    SELECT (SELECT min(n.tenant) FROM counterfoil.obligations AS n WHERE n.tenant > here.tenant)
      FROM tenants AS here WHERE here.tenant IS NOT NULL)
  SELECT ${obligationColumns} FROM tenants AS t JOIN (${obligationTables}) ON o.tenant = t.tenant`;

/** A page of obligations, newest first. */
export async function listObligations(handle: ReadHandle, filter: ObligationFilter, page: Page): Promise<Obligation[]> {
  return (await obligationRows(handle, filter, page)).map(toObligation);
}

function obligationRows(
  handle: ReadHandle,
  { tenant, state, effect, keyPrefix }: ObligationFilter,
  page: Page,
): Promise<readonly ObligationRow[]> {
  // What is not done stands in a table as small as the work that is left.
  const inProgress = keyPrefix === undefined && state !== undefined && state !== "done";
  const byTenant = whereSet("o.tenant = ?", tenant);
  const rest = [
    ...whereSet(inProgress ? "p.state = ?" : "coalesce(o.state, p.state) = ?", state),
    ...whereSet("o.effect = ?", effect),
  ];
  const [owner] = byTenant;
  if (owner && keyPrefix === undefined && !inProgress) {
    const table = {
      columns: obligationColumns,
      tables: obligationTables,
      table: "counterfoil.obligations",
      alias: "o",
    };
    return ownedPage<ObligationRow>(handle, page, { ...table, owner, where: rest });
  }
  const { text, values } = pageOf(page, {
    from: keyPrefix !== undefined ? byKeyPrefix : inProgress ? notDone : any,
    id: inProgress ? "p.obligation_id" : "o.id",
    where: [...(keyPrefix === undefined ? [] : [startsWith(keyPrefix)]), ...byTenant, ...rest],
  });
  return handle.runText<ObligationRow>(text, values);
}

/** A range of keys, which an index serves; no byte of UTF-8 text sorts after the last code point. */
function startsWith(prefix: string): Condition {
  return { text: "o.operation_key >= ? AND o.operation_key < ?", values: [prefix, `${prefix}\u{10FFFF}`] };
}

const selectObligation = sql(
  "read.obligation",
  `SELECT ${obligationColumns}, ${requestColumns}, p.lease_worker, p.lease_kind, p.lease_from, p.lease_until,
     told.status, told.body AS told_body, told.truncated, told.found
   FROM ${obligationTables} LEFT JOIN counterfoil.requests AS q ON q.obligation_id = o.id
   LEFT JOIN LATERAL (SELECT true AS found, e.* FROM (${decidingAnswer("o.id")}) AS e) AS told ON true
   WHERE o.tenant = $1 AND o.operation_key = $2`,
);

const selectAttempts = sql(
  "read.attempts",
  "SELECT * FROM counterfoil.attempts WHERE obligation_id = $1 ORDER BY fence",
);

// Primary key of the answers, newest first.
const selectRefusal = sql(
  "read.refusal",
  `SELECT w.status, w.body, w.truncated FROM counterfoil.answers AS w
   JOIN counterfoil.attempts AS a ON a.obligation_id = w.obligation_id AND a.fence = w.fence
   WHERE w.obligation_id = $1 AND a.verdict <> 'done' ORDER BY w.fence DESC LIMIT 1`,
);

interface DetailRow extends ObligationRow {
  readonly lease_worker: string | null;
  readonly lease_kind: AttemptKind | null;
  readonly lease_from: number | null;
  readonly lease_until: number | null;
  readonly found: true | null;
  readonly told_body: Uint8Array | null;
  readonly status: AnswerRow["status"];
  readonly truncated: AnswerRow["truncated"];
}

export async function readObligation(
  handle: ReadHandle,
  tenant: string,
  operationKey: string,
): Promise<ObligationDetail | undefined> {
  const [row] = await handle.run<DetailRow & (RequestRow | { readonly method: null })>(selectObligation, [
    tenant,
    operationKey,
  ]);
  if (!row) return undefined;
  const frozen = row.method === null ? null : row;
  const { id, lease_worker: worker, lease_until: untilMs, status, told_body: body, truncated } = row;
  const ended = await handle.run<AttemptRow>(selectAttempts, [id]);
  const [refused] = await handle.run<AnswerRow>(selectRefusal, [id]);
  return {
    obligation: toObligation(row),
    input: frozen && frozen.input,
    request: frozen && toRequest(frozen),
    requestDigest: frozen && frozen.request_digest,
    attempts: [...ended, ...startedAttempt(row, ended)].map(toAttempt),
    refusal: refused ? toAnswer(refused) : null,
    answer: row.found ? toAnswer({ status, body, truncated }) : null,
    lease: worker === null ? null : { worker, live: (untilMs ?? 0) > handle.now },
    waitsBehind: await waitsBehind(handle, row),
    audit: await auditOf(handle, auditTarget("obligation", id)),
  };
}

// Index progress_order.
const selectFirst = sql(
  "read.order-first",
  `SELECT o.operation_key AS "operationKey", p.state FROM counterfoil.progress AS p
   JOIN counterfoil.obligations AS o ON o.id = p.obligation_id
   WHERE p.order_key = $1 AND p.obligation_id < $2 AND p.state IN ${holdingStates} ORDER BY p.obligation_id LIMIT 1`,
);

type Behind = ObligationDetail["waitsBehind"];

async function waitsBehind(handle: ReadHandle, { id, state, order_key: orderKey }: ObligationRow): Promise<Behind> {
  if (orderKey === null || !holdsUp(state)) return null;
  const [first = null] = await handle.run<NonNullable<Behind>>(selectFirst, [orderKey, id]);
  return first;
}

/** The attempt of the lease, unless its end is written already. */
function startedAttempt(row: DetailRow, ended: readonly AttemptRow[]): AttemptRow[] {
  const { id, fence, generation, lease_worker: worker, lease_kind: kind, lease_from: from } = row;
  if (worker === null || kind === null || from === null || ended.some((attempt) => attempt.fence === fence)) return [];
  const open = { ended_at: null, verdict: "started", phase: null, status: null, cause: null } as const;
  return [{ obligation_id: id, fence, kind, generation, worker, started_at: from, ...open }];
}
