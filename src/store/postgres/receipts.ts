/**
 * Claiming the keys of events, and what was decided about them.
 *
 * A key is claimed by the unique index: an insert that meets another transaction's waits for its end,
 * and then finds the event known. All transactions insert in one order, so that two groups with the same
 * events wait for each other, never both at once.
 */
import { keepsOrder } from "../../domain/outcome.ts";
import type { Receipt } from "../../domain/receipt.ts";
import { type ReceiptRow, toReceipt } from "../rows.ts";
import type { ClaimedReceipt, ReceiptDraft, SettledReceipt } from "../store.ts";
import type { Handle } from "./handle.ts";
import { lostRace } from "./lost-race.ts";
import { releaseNext } from "./order.ts";
import { isPaused } from "./paused-connections.ts";
import { relation } from "./relation.ts";
import { claimReplays } from "./replays.ts";
import { rounds } from "./rounds.ts";
import { receiptColumns, receiptTables } from "./rows.ts";
import { sql, steadySql } from "./statements.ts";
import { plain } from "./values.ts";

const drafts = relation(
  "d",
  {
    connection: "text",
    account: "text",
    event_id: "text",
    tenant: "text",
    type: "text",
    digest: "text",
    secret_id: "text",
    bytes: "bytea",
    headers: "text",
    expire_at: "int8",
  },
  1,
);

// Ids are in the order of arrival, locks in the order of the keys.
const insertReceipts = steadySql(
  "receipt.insert",
  `WITH draft AS MATERIALIZED (
     SELECT nextval('counterfoil.receipts_id_seq') AS id, d.* FROM ${drafts.from}),
   fresh AS (
     INSERT INTO counterfoil.receipts (id, connection, account, event_id, tenant, type, digest, secret_id, outcome,
       received_at, decided_at, tries, version)
     OVERRIDING SYSTEM VALUE
     SELECT id, connection, account, event_id, tenant, type, digest, secret_id, 'applied', $1, $1, 0, 1
     FROM draft ORDER BY connection COLLATE "C", account COLLATE "C", event_id COLLATE "C"
     ON CONFLICT (connection, account, event_id) DO NOTHING
     RETURNING id),
   claimed AS MATERIALIZED (SELECT draft.* FROM fresh JOIN draft USING (id)),
   kept AS (
     INSERT INTO counterfoil.payloads (receipt_id, bytes, headers, expire_at)
     SELECT id, bytes, headers, expire_at FROM claimed)
   SELECT ord::int, id, ${isPaused("claimed.connection")} AS paused FROM claimed`,
);

const keys = relation("k", { connection: "text", account: "text", event_id: "text" });

// A statement of its own sees what was committed while the insert waited.
const selectByKeys = sql(
  "receipt.by-key",
  `SELECT k.ord::int AS ord, ${receiptColumns} FROM ${keys.from}
   JOIN (${receiptTables}) ON r.connection = k.connection AND r.account = k.account AND r.event_id = k.event_id`,
);

/** Claims each key: a fresh one is inserted with its bytes, as applied or as a suspect. */
export async function claimReceipts(handle: Handle, given: readonly ReceiptDraft[]): Promise<ClaimedReceipt[]> {
  const inserted = await handle.run<{ ord: number; id: number; paused: boolean }>(insertReceipts, [
    handle.stamp.wallMs,
    ...drafts.values(given.map((draft) => draftRow(draft, handle.stamp.wallMs))),
  ]);
  const fresh = new Map(inserted.map((row) => [given[row.ord - 1] as ReceiptDraft, row]));
  const known = await knownReceipts(
    handle,
    given.filter((draft) => !fresh.has(draft)),
  );
  const replayed = await claimReplays(
    handle,
    given.flatMap((draft) => {
      const row = fresh.get(draft);
      return row === undefined || draft.replay === null ? [] : [{ ...draft, id: row.id, replay: draft.replay }];
    }),
  );
  return given.map((draft) => {
    const receipt = known.get(draft);
    if (receipt) return { kind: "known", receipt };
    const { id, paused } = fresh.get(draft) as { readonly id: number; readonly paused: boolean };
    const original = replayed.get(id);
    return original ? { kind: "replayed", id, original } : { kind: "fresh", id, ...(paused && { paused }) };
  });
}

function draftRow(draft: ReceiptDraft, now: number): Parameters<typeof drafts.values>[0][number] {
  const { connection, account, tenant, type, digest, payload } = draft;
  return {
    connection,
    account,
    event_id: draft.eventId,
    tenant,
    type,
    digest,
    secret_id: draft.secretId,
    bytes: payload.bytes,
    headers: plain(payload.headers),
    expire_at: now + draft.bytesKeptMs,
  };
}

async function knownReceipts(handle: Handle, known: readonly ReceiptDraft[]): Promise<Map<ReceiptDraft, Receipt>> {
  if (known.length === 0) return new Map();
  const rows = await handle.run<ReceiptRow & { readonly ord: number }>(
    selectByKeys,
    keys.values(known.map(({ connection, account, eventId }) => ({ connection, account, event_id: eventId }))),
  );
  // Removed between the two statements: the next run inserts it.
  if (rows.length < known.length) throw lostRace("an event's receipt was removed meanwhile");
  return new Map(rows.map((row) => [known[row.ord - 1] as ReceiptDraft, toReceipt(row)]));
}

const decisions = relation(
  "g",
  {
    id: "int8",
    version: "int8",
    outcome: "text",
    reason: "text",
    tries: "int8",
    starts: "int8",
    due_at: "int8",
    deadline_at: "int8",
    rank: "text",
    waits_kind: "text",
    waits_id: "text",
    tenant: "text",
    type: "text",
    order_key: "text",
    expire_at: "int8",
    expired: "bool",
  },
  1,
);

// By primary key, in the order of the ids, under the version that each decision was made on.
const settle = sql(
  "receipt.settle",
  `WITH given AS MATERIALIZED (SELECT * FROM ${decisions.from}),
   held AS MATERIALIZED (
     SELECT r.id FROM counterfoil.receipts AS r JOIN given AS g ON r.id = g.id AND r.version = g.version
     ORDER BY r.id FOR UPDATE OF r),
   settled AS (
     UPDATE counterfoil.receipts AS r SET outcome = g.outcome, reason = g.reason, tries = g.tries, starts = g.starts, due_at = g.due_at,
       deadline_at = g.deadline_at, rank = coalesce(g.rank, r.rank), waits_kind = g.waits_kind, waits_id = g.waits_id, decided_at = $1,
       tenant = coalesce(g.tenant, r.tenant), type = coalesce(g.type, r.type),
       order_key = coalesce(g.order_key, r.order_key), version = r.version + 1
     FROM given AS g JOIN held USING (id) WHERE r.id = g.id),
   removed AS (
     DELETE FROM counterfoil.payloads AS p USING given AS g JOIN held USING (id)
     WHERE p.receipt_id = g.id AND g.expired),
   expiring AS (
     UPDATE counterfoil.payloads AS p SET expire_at = g.expire_at FROM given AS g JOIN held USING (id)
     WHERE p.receipt_id = g.id AND NOT g.expired)
   SELECT id FROM held`,
);

/** Writes decisions; `false` where someone else decided first. */
export async function settleReceipts(handle: Handle, settled: readonly SettledReceipt[]): Promise<boolean[]> {
  if (settled.some(({ dueAt }) => dueAt !== null && dueAt <= handle.stamp.wallMs)) handle.say({ arrived: true });
  const results: boolean[] = [];
  for (const round of rounds(settled, ({ id }) => id)) {
    const rows = await handle.run<{ id: number }>(settle, [
      handle.stamp.wallMs,
      ...decisions.values(round.map(decisionRow)),
    ]);
    const written = new Set(rows.map(({ id }) => id));
    results.push(...round.map(({ id }) => written.has(id)));
  }
  const leaving = settled.filter(
    ({ orderKey, outcome }, index) => results[index] && orderKey !== null && !keepsOrder(outcome),
  );
  if (leaving.length > 0) {
    await releaseNext(
      handle,
      leaving.map(({ id }) => id),
    );
  }
  return results;
}

function decisionRow(settled: SettledReceipt): Parameters<typeof decisions.values>[0][number] {
  const { id, version, outcome, tries, starts, rank, waitsFor, identity, bytesExpireAt } = settled;
  return {
    id,
    version,
    outcome,
    reason: plain(settled.reason),
    tries,
    starts,
    due_at: settled.dueAt,
    deadline_at: settled.deadlineAt,
    rank,
    waits_kind: waitsFor?.kind ?? null,
    waits_id: waitsFor?.id ?? null,
    tenant: identity?.tenant ?? null,
    type: identity?.type ?? null,
    order_key: settled.orderKey,
    expire_at: bytesExpireAt === "now" ? null : bytesExpireAt,
    expired: bytesExpireAt === "now",
  };
}

// Receipts of this transaction, that nobody else has seen: the order does not matter.
const discard = sql(
  "receipt.discard",
  `WITH payload AS (DELETE FROM counterfoil.payloads WHERE receipt_id = ANY ($1::bigint[])),
   mismatch AS (DELETE FROM counterfoil.mismatches WHERE receipt_id = ANY ($1::bigint[])),
   replay AS (DELETE FROM counterfoil.replays WHERE receipt_id = ANY ($1::bigint[]))
   DELETE FROM counterfoil.receipts WHERE id = ANY ($1::bigint[])`,
);

/** Undoes claims of this transaction, so that the sender's next try is fresh. */
export async function discardReceipts(handle: Handle, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await handle.run(discard, [ids]);
}

// Index payloads_expiry, oldest first; what another process removes is left to it.
const expireDue = sql(
  "payload.expire-due",
  `WITH due AS MATERIALIZED (
     SELECT receipt_id FROM counterfoil.payloads WHERE expire_at <= $1
     ORDER BY expire_at LIMIT $2 FOR UPDATE SKIP LOCKED)
   DELETE FROM counterfoil.payloads AS p USING due WHERE p.receipt_id = due.receipt_id RETURNING p.receipt_id`,
);

/** Removes bytes whose time has come; gives how many events lost theirs. */
export async function expireBytes(handle: Handle, limit: number): Promise<number> {
  return (await handle.run(expireDue, [handle.stamp.wallMs, limit])).length;
}
