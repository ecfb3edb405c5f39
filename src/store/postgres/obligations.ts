/** Owing: one obligation for each operation key of a tenant, with its frozen request. */
import type { FrozenRequest, Obligation } from "../../domain/obligation.ts";
import { type ObligationRow, toObligation } from "../rows.ts";
import type { ObligationDraft, OwedObligation } from "../store.ts";
import { freeNext, lockEffectOrders } from "./effect-orders.ts";
import type { Handle } from "./handle.ts";
import { lostRace } from "./lost-race.ts";
import { relation } from "./relation.ts";
import { doneColumns, obligationTables, openColumns } from "./rows.ts";
import { sql, steadySql } from "./statements.ts";
import { plain } from "./values.ts";

const drafts = relation(
  "d",
  {
    tenant: "text",
    operation_key: "text",
    effect: "text",
    destination: "text",
    connection: "text",
    account: "text",
    receipt_id: "int8",
    input_digest: "text",
    method: "text",
    url: "text",
    content_type: "text",
    body: "bytea",
    digest: "text",
    input: "text",
    order_key: "text",
    not_before: "int8",
  },
  1,
);

/** Of an order key only the first is due, which is found out once all of them are inserted. */
function firstDue(now: string): string {
  return `CASE WHEN order_key IS NULL THEN greatest(${now}, not_before) END`;
}

// The unique index on (tenant, operation_key) decides: an insert that meets another transaction's waits
// for its end. The obligation, its request and its due row are one statement.
const insertObligations = steadySql(
  "obligation.insert",
  `WITH draft AS MATERIALIZED (
     SELECT nextval('counterfoil.obligations_id_seq') AS id, d.* FROM ${drafts.from}),
   created AS (
     INSERT INTO counterfoil.obligations (id, tenant, operation_key, effect, destination, connection, account, receipt_id,
       input_digest, created_at, order_key, not_before)
     OVERRIDING SYSTEM VALUE
     SELECT id, tenant, operation_key, effect, destination, connection, account, receipt_id, input_digest, $1,
       order_key, not_before
     FROM draft ORDER BY tenant COLLATE "C", operation_key COLLATE "C"
     ON CONFLICT (tenant, operation_key) DO NOTHING
     RETURNING id),
   owed AS MATERIALIZED (SELECT draft.* FROM created JOIN draft USING (id)),
   request AS (
     INSERT INTO counterfoil.requests (obligation_id, method, url, content_type, body, digest, input)
     SELECT id, method, url, content_type, body, digest, input FROM owed),
   due AS (
     INSERT INTO counterfoil.progress (obligation_id, effect, destination, state, reached, fence, generation, tries,
       lookups, crashes, updated_at, order_key, not_before, due_at)
     SELECT id, effect, destination, 'owed', 'no', 0, 1, 0, 0, 0, $1, order_key, not_before,
       ${firstDue("$1::bigint")} FROM owed)
   SELECT ord::int, id FROM owed`,
);

/** Most handlers owe one thing at most: without the arrays, the statement is planned in half the time. */
const insertOne = steadySql(
  "obligation.insert-one",
  `WITH created AS (
     INSERT INTO counterfoil.obligations (tenant, operation_key, effect, destination, connection, account, receipt_id,
       input_digest, created_at, order_key, not_before)
     VALUES ($2, $3, $4, $5, $6, $7, $8::bigint, $9, $1::bigint, $16, $17::bigint)
     ON CONFLICT (tenant, operation_key) DO NOTHING
     RETURNING id, effect, destination, order_key, not_before),
   request AS (
     INSERT INTO counterfoil.requests (obligation_id, method, url, content_type, body, digest, input)
     SELECT id, $10::text, $11::text, $12::text, $13::bytea, $14::text, $15::text FROM created),
   due AS (
     INSERT INTO counterfoil.progress (obligation_id, effect, destination, state, reached, fence, generation, tries,
       lookups, crashes, updated_at, order_key, not_before, due_at)
     SELECT id, effect, destination, 'owed', 'no', 0, 1, 0, 0, 0, $1::bigint, order_key, not_before,
       ${firstDue("$1::bigint")} FROM created)
   SELECT 1 AS ord, id FROM created`,
);

const keys = relation("k", { tenant: "text", operation_key: "text" });

// A statement of its own sees what was committed while the insert waited.
const selectOwed = sql(
  "obligation.owed",
  `SELECT k.ord::int AS ord, o.id, o.effect, o.input_digest,
     coalesce(p.state = 'withdrawn' OR p.cancel_requested, false) AS withdrawn
   FROM ${keys.from} JOIN (${obligationTables}) USING (tenant, operation_key)`,
);

/** What is known of a key: the obligation that has it, and what that is for. */
interface Owed {
  readonly id: number;
  readonly effect: string;
  readonly inputDigest: string;
  readonly withdrawn?: boolean;
}

/** Owes each draft; a key that repeats meets its first use. */
export async function oweObligations(handle: Handle, given: readonly ObligationDraft[]): Promise<OwedObligation[]> {
  if (given.length === 0) return [];
  const firsts = new Map(given.toReversed().map((draft) => [keyOf(draft), draft]));
  const distinct = given.filter((draft) => firsts.get(keyOf(draft)) === draft);
  const rows = distinct.map(draftRow);
  const orderKeys = [...new Set(distinct.flatMap(({ orderKey }) => orderKey ?? []))];
  await lockEffectOrders(handle, orderKeys);
  const [only] = rows;
  const inserted =
    rows.length === 1 && only
      ? await handle.run<InsertedRow>(insertOne, [handle.stamp.wallMs, ...Object.values(only)])
      : await handle.run<InsertedRow>(insertObligations, [handle.stamp.wallMs, ...drafts.values(rows)]);
  const created = new Map(inserted.map(({ ord, id }) => [distinct[ord - 1] as ObligationDraft, id]));
  if (created.size > 0) handle.say({ owed: true });
  await freeNext(handle, orderKeys);
  const rest = distinct.filter((draft) => !created.has(draft));
  const known = await knownObligations(handle, rest);
  return given.map((draft) => {
    const id = created.get(draft);
    if (id !== undefined) return { kind: "created", id };
    const first = firsts.get(keyOf(draft)) as ObligationDraft;
    const owed = known.get(first) ?? { id: created.get(first) as number, ...first };
    if (owed.withdrawn) return { kind: "withdrawn", id: owed.id };
    const same = owed.effect === draft.effect && owed.inputDigest === draft.inputDigest;
    return { kind: same ? "same" : "conflict", id: owed.id };
  });
}

interface OwedRow {
  readonly ord: number;
  readonly id: number;
  readonly effect: string;
  readonly input_digest: string;
  readonly withdrawn: boolean;
}

interface InsertedRow {
  readonly ord: number;
  readonly id: number;
}

function keyOf({ tenant, operationKey }: ObligationDraft): string {
  return JSON.stringify([tenant, operationKey]);
}

/** In the order of the columns. */
function draftRow(draft: ObligationDraft): Parameters<typeof drafts.values>[0][number] {
  const { tenant, effect, destination, connection, account, request } = draft;
  return {
    tenant,
    operation_key: draft.operationKey,
    effect,
    destination,
    connection,
    account,
    receipt_id: draft.receiptId,
    input_digest: draft.inputDigest,
    method: request.method,
    url: plain(request.url),
    content_type: plain(request.contentType),
    body: request.body,
    digest: draft.requestDigest,
    input: plain(draft.input),
    order_key: draft.orderKey,
    not_before: draft.notBefore,
  };
}

async function knownObligations(
  handle: Handle,
  known: readonly ObligationDraft[],
): Promise<Map<ObligationDraft, Owed>> {
  if (known.length === 0) return new Map();
  const rows = await handle.run<OwedRow>(
    selectOwed,
    keys.values(known.map(({ tenant, operationKey }) => ({ tenant, operation_key: operationKey }))),
  );
  if (rows.length < known.length) throw lostRace("an obligation was removed meanwhile");
  return new Map(
    rows.map(({ ord, id, effect, input_digest: inputDigest, withdrawn }) => [
      known[ord - 1] as ObligationDraft,
      { id, effect, inputDigest, withdrawn },
    ]),
  );
}

// Nobody makes such a row due, and nobody frees it, but under the lock of its order key.
const isWaiting = "(p.order_key IS NOT NULL AND p.state = 'owed' AND p.due_at IS NULL AND p.lease_until IS NULL)";
const openOne = `counterfoil.obligations AS o JOIN counterfoil.progress AS p ON p.obligation_id = o.id
   WHERE o.tenant = $1 AND o.operation_key = $2`;

// The row that moves is the one that is locked: in `progress`, or here once it is done.
const lockOpen = sql("obligation.lock", `SELECT ${openColumns} FROM ${openOne} AND NOT ${isWaiting} FOR UPDATE OF p`);

const waitingOrder = sql("obligation.waiting-order", `SELECT p.order_key FROM ${openOne} AND ${isWaiting}`);

const lockWaiting = sql(
  "obligation.lock-waiting",
  `SELECT ${openColumns} FROM ${openOne} AND ${isWaiting} FOR UPDATE OF p`,
);

const lockDone = sql(
  "obligation.lock-done",
  `SELECT ${doneColumns} FROM counterfoil.obligations AS o
   WHERE o.tenant = $1 AND o.operation_key = $2 AND o.state IS NOT NULL FOR UPDATE`,
);

/**
 * One obligation, locked; it may be done meanwhile.
 *
 * One that waits for its turn is locked after its order key, as those do who give a turn: they hold the key
 * and then write the row. Any other is locked before its order key, as those do who settle it.
 */
export async function lockObligation(
  handle: Handle,
  tenant: string,
  operationKey: string,
): Promise<Obligation | undefined> {
  const run = <Row>(statement: typeof lockOpen): Promise<readonly Row[]> =>
    handle.run<Row>(statement, [tenant, operationKey]);
  const [open] = await run<ObligationRow>(lockOpen);
  if (open) return toObligation(open);
  const [waiting] = await run<{ readonly order_key: string }>(waitingOrder);
  if (waiting) {
    await lockEffectOrders(handle, [waiting.order_key]);
    const [row] = await run<ObligationRow>(lockWaiting);
    if (row) return toObligation(row);
    // Whoever has it now may want the order key that is held here.
    throw lostRace("an obligation had its turn meanwhile");
  }
  const [done] = await run<ObligationRow>(lockDone);
  return done && toObligation(done);
}

const replaceRequest = sql(
  "request.replace",
  `UPDATE counterfoil.requests SET method = $1, url = $2, content_type = $3, body = $4, digest = $5
   WHERE obligation_id = $6`,
);

/** Replaces what is sent for an obligation. */
export async function amendRequest(
  handle: Handle,
  id: number,
  request: FrozenRequest & { readonly digest: string },
): Promise<void> {
  const { method, url, contentType, body, digest } = request;
  await handle.run(replaceRequest, [method, plain(url), plain(contentType), body, digest, id]);
}

const pause = sql(
  "destination.pause",
  `INSERT INTO counterfoil.destinations (destination, paused_reason, updated_at) VALUES ($1, $2, $3)
   ON CONFLICT (destination) DO UPDATE SET paused_reason = excluded.paused_reason, updated_at = excluded.updated_at`,
);

/** Pauses a destination for a reason, or resumes it. */
export async function pauseDestination(handle: Handle, destination: string, reason: string | null): Promise<void> {
  await handle.run(pause, [destination, plain(reason), handle.stamp.wallMs]);
}
