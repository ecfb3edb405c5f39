/** The second key of events whose id is not signed: the same content under another id inside a window. */
import type { Receipt } from "../../domain/receipt.ts";
import { type ReceiptRow, toReceipt } from "../rows.ts";
import type { ReceiptDraft } from "../store.ts";
import type { Handle } from "./handle.ts";
import { relation } from "./relation.ts";
import { receiptColumns, receiptTables } from "./rows.ts";
import { sql } from "./statements.ts";

/** A fresh receipt whose content may be known. */
interface FreshContent extends Pick<ReceiptDraft, "connection" | "account" | "type"> {
  readonly id: number;
  readonly replay: NonNullable<ReceiptDraft["replay"]>;
}

const contents = relation(
  "c",
  { connection: "text", account: "text", type: "text", digest: "text", receipt_id: "int8", lapses_at: "int8" },
  1,
);

// The primary key decides; a row whose window has passed is taken over. In one order, as receipts are.
const claim = sql(
  "replay.claim",
  `INSERT INTO counterfoil.replays AS p (connection, account, type, digest, receipt_id, lapses_at)
   SELECT c.connection, c.account, c.type, c.digest, c.receipt_id, c.lapses_at FROM ${contents.from} ORDER BY c.ord
   ON CONFLICT (connection, account, type, digest) DO UPDATE
   SET receipt_id = excluded.receipt_id, lapses_at = excluded.lapses_at WHERE p.lapses_at <= $1
   RETURNING receipt_id`,
);

const suspects = relation("c", { connection: "text", account: "text", type: "text", digest: "text", id: "int8" });

const suspect = sql(
  "replay.suspect",
  `WITH copy AS MATERIALIZED (
     SELECT c.id AS copy_id, r.id AS original_id FROM ${suspects.from}
     JOIN counterfoil.replays AS p USING (connection, account, type, digest)
     JOIN counterfoil.receipts AS r ON r.id = p.receipt_id),
   marked AS (
     UPDATE counterfoil.receipts AS r SET outcome = 'suspect' FROM copy WHERE r.id = copy.copy_id),
   kept AS (
     UPDATE counterfoil.payloads AS b SET expire_at = NULL FROM copy WHERE b.receipt_id = copy.copy_id)
   SELECT copy.copy_id, ${receiptColumns} FROM copy JOIN (${receiptTables}) ON r.id = copy.original_id`,
);

/**
 * Takes contents for receipts, the first of each content first; gives, for those that came too late, the
 * receipt that has theirs. They are suspects from then on, and keep their bytes.
 */
export async function claimReplays(handle: Handle, fresh: readonly FreshContent[]): Promise<Map<number, Receipt>> {
  if (fresh.length === 0) return new Map();
  const firsts = new Map(fresh.toReversed().map((content) => [keyOf(content), content]));
  const inOrder = [...firsts].toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([, content]) => content);
  const now = handle.stamp.wallMs;
  const taken = await handle.run<{ receipt_id: number }>(claim, [
    now,
    ...contents.values(
      inOrder.map(({ id, replay, ...content }) => ({
        ...content,
        digest: replay.digest,
        receipt_id: id,
        lapses_at: now + replay.windowMs,
      })),
    ),
  ]);
  const owners = new Set(taken.map(({ receipt_id: id }) => id));
  const copies = fresh.filter(({ id }) => !owners.has(id));
  if (copies.length === 0) return new Map();
  const rows = await handle.run<ReceiptRow & { readonly copy_id: number }>(
    suspect,
    suspects.values(copies.map(({ replay, ...content }) => ({ ...content, digest: replay.digest }))),
  );
  return new Map(rows.map((row) => [row.copy_id, toReceipt(row)]));
}

function keyOf({ connection, account, type, replay }: FreshContent): string {
  return JSON.stringify([connection, account, type, replay.digest]);
}
