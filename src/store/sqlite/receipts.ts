/** Claiming the keys of events, and what was decided about them. */
import { keepsOrder } from "../../domain/outcome.ts";
import { toReceipt, type ReceiptRow } from "../rows.ts";
import type { ClaimedReceipt, ReceiptDraft, SettledReceipt } from "../store.ts";
import type { Handle } from "./handle.ts";
import { pausedConnections } from "./paused-connections.ts";
import { keepsLine, receiptColumns } from "./rows.ts";
import { sql } from "./statements.ts";

// The unique index on (connection, account, event_id) decides; the write lock was taken at BEGIN.
const insertReceipt = sql(
  "receipt.insert",
  `INSERT INTO counterfoil_receipts (connection, account, event_id, tenant, type, digest, secret_id, outcome, reason,
     received_at, decided_at, deliveries, tries, version)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 1)
   ON CONFLICT (connection, account, event_id) DO NOTHING`,
);

const selectByKey = sql(
  "receipt.by-key",
  `SELECT ${receiptColumns} FROM counterfoil_receipts AS r WHERE connection = ? AND account = ? AND event_id = ?`,
);

const insertPayload = sql(
  "payload.insert",
  "INSERT INTO counterfoil_payloads (receipt_id, bytes, headers, expire_at) VALUES (?, ?, ?, ?)",
);

/** Claims each key in turn: a fresh one is inserted with its bytes, as applied or as a suspect. */
export function claimReceipts(handle: Handle, drafts: readonly ReceiptDraft[]): ClaimedReceipt[] {
  const paused = new Set(pausedConnections(handle).map(({ connection }) => connection));
  return drafts.map((draft) => claimReceipt(handle, draft, paused));
}

function claimReceipt(handle: Handle, draft: ReceiptDraft, paused: ReadonlySet<string>): ClaimedReceipt {
  const { connection, account, eventId, tenant, type, digest, secretId, payload } = draft;
  const now = handle.stamp.wallMs;
  const inserted = handle
    .statement(insertReceipt)
    .run(connection, account, eventId, tenant, type, digest, secretId, "applied", null, now, now);
  if (inserted.changes === 0) {
    const row = handle.statement(selectByKey).get(connection, account, eventId) as unknown as ReceiptRow;
    return { kind: "known", receipt: toReceipt(row) };
  }
  const id = Number(inserted.lastInsertRowid);
  const original = draft.replay && claimContent(handle, { id, draft, replay: draft.replay });
  const expireAt = original ? null : now + draft.bytesKeptMs;
  handle.statement(insertPayload).run(id, payload.bytes, payload.headers, expireAt);
  if (!original) return { kind: "fresh", id, ...(paused.has(connection) && { paused: true }) };
  handle.statement(markSuspect).run(id);
  return { kind: "replayed", id, original };
}

const markSuspect = sql("receipt.suspect", "UPDATE counterfoil_receipts SET outcome = 'suspect' WHERE id = ?");

// The primary key of the replays decides; a row whose window has passed is taken over.
const claimReplay = sql(
  "replay.claim",
  `INSERT INTO counterfoil_replays (connection, account, type, digest, receipt_id, lapses_at) VALUES (?, ?, ?, ?, ?, ?)
   ON CONFLICT (connection, account, type, digest) DO UPDATE
   SET receipt_id = excluded.receipt_id, lapses_at = excluded.lapses_at WHERE lapses_at <= ?`,
);

const selectOriginal = sql(
  "replay.original",
  `SELECT ${receiptColumns} FROM counterfoil_replays AS p JOIN counterfoil_receipts AS r ON r.id = p.receipt_id
   WHERE p.connection = ? AND p.account = ? AND p.type = ? AND p.digest = ?`,
);

/** Takes the content for this receipt; gives the receipt that has it, where it is another's inside the window. */
function claimContent(
  handle: Handle,
  { id, draft, replay }: { id: number; draft: ReceiptDraft; replay: NonNullable<ReceiptDraft["replay"]> },
): ReturnType<typeof toReceipt> | undefined {
  const { connection, account, type } = draft;
  const now = handle.stamp.wallMs;
  const taken = handle
    .statement(claimReplay)
    .run(connection, account, type, replay.digest, id, now + replay.windowMs, now);
  if (taken.changes === 1) return undefined;
  const row = handle.statement(selectOriginal).get(connection, account, type, replay.digest);
  return toReceipt(row as unknown as ReceiptRow);
}

// By primary key, under the version that the decision was made on.
const settleReceipt = sql(
  "receipt.settle",
  `UPDATE counterfoil_receipts SET outcome = ?, reason = ?, tries = ?, starts = ?, due_at = ?, deadline_at = ?, rank = coalesce(?, rank),
     waits_kind = ?, waits_id = ?, decided_at = ?, tenant = coalesce(?, tenant), type = coalesce(?, type),
     order_key = coalesce(?, order_key), version = version + 1
   WHERE id = ? AND version = ?`,
);

// Index counterfoil_receipts_order. One that is held or parked keeps the time of its own.
const releaseNext = sql(
  "receipt.release",
  `UPDATE counterfoil_receipts SET due_at = min(coalesce(due_at, ?1), ?1)
   WHERE outcome = 'queued' AND id = (
     SELECT n.id FROM counterfoil_receipts AS r JOIN counterfoil_receipts AS n INDEXED BY counterfoil_receipts_order
       ON n.connection = r.connection AND n.account = r.account AND n.order_key = r.order_key
     WHERE r.id = ?2 AND ${keepsLine("n")} ORDER BY n.rank IS NULL, n.rank, n.id LIMIT 1)`,
);

const expirePayload = sql("payload.expire", "UPDATE counterfoil_payloads SET expire_at = ? WHERE receipt_id = ?");
const removePayload = sql("payload.remove", "DELETE FROM counterfoil_payloads WHERE receipt_id = ?");
const removeMismatches = sql("mismatch.remove", "DELETE FROM counterfoil_mismatches WHERE receipt_id = ?");

/** Writes decisions; `false` where someone else decided first. */
export function settleReceipts(handle: Handle, settled: readonly SettledReceipt[]): boolean[] {
  return settled.map((decision) => {
    const { id, outcome, reason, tries, starts, dueAt, deadlineAt, rank, waitsFor, identity, version } = decision;
    const { bytesExpireAt, orderKey } = decision;
    const written = handle
      .statement(settleReceipt)
      .run(
        outcome,
        reason,
        tries,
        starts,
        dueAt,
        deadlineAt,
        rank,
        waitsFor?.kind ?? null,
        waitsFor?.id ?? null,
        handle.stamp.wallMs,
        identity?.tenant ?? null,
        identity?.type ?? null,
        orderKey,
        id,
        version,
      );
    if (written.changes !== 1) return false;
    if (bytesExpireAt === "now") handle.statement(removePayload).run(id);
    else handle.statement(expirePayload).run(bytesExpireAt, id);
    if (orderKey !== null && !keepsOrder(outcome)) handle.statement(releaseNext).run(handle.stamp.wallMs, id);
    return true;
  });
}

const removeReceipt = sql("receipt.remove", "DELETE FROM counterfoil_receipts WHERE id = ?");
const removeReplay = sql("replay.remove", "DELETE FROM counterfoil_replays WHERE receipt_id = ?");

/** Undoes claims of this transaction, so that the sender's next try is fresh. */
export function discardReceipts(handle: Handle, ids: readonly number[]): void {
  for (const id of ids) {
    handle.statement(removePayload).run(id);
    handle.statement(removeMismatches).run(id);
    handle.statement(removeReplay).run(id);
    handle.statement(removeReceipt).run(id);
  }
}

// Index counterfoil_payloads_expiry, oldest first.
const expireDue = sql(
  "payload.expire-due",
  `DELETE FROM counterfoil_payloads WHERE receipt_id IN (
     SELECT receipt_id FROM counterfoil_payloads WHERE expire_at IS NOT NULL AND expire_at <= ?
     ORDER BY expire_at LIMIT +?)`,
);

/** Removes bytes whose time has come; gives how many events lost theirs. */
export function expireBytes(handle: Handle, limit: number): number {
  return Number(handle.statement(expireDue).run(handle.stamp.wallMs, limit).changes);
}
