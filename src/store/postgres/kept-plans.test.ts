/** Plans that are made once find their rows by an index, whatever the tables held when they were made. */
import { expect, onTestFinished, test } from "vitest";
import { ask } from "../../../test/support/postgres-query.ts";
import { attemptEnd, lane, moveOf, obligationDraft } from "../conformance/drafts.conformance.ts";
import type { StoreTx } from "../store.ts";
import { migratedDatabase, poolAt, storeAt } from "./bundle.conformance.ts";

/** Many obligations of one lane that are not due yet. */
const full = `
  INSERT INTO counterfoil.obligations (tenant, operation_key, effect, destination, connection, account, receipt_id,
    input_digest, created_at)
  SELECT 'acme', 'full/' || n, 'ship/v1', 'https://carrier.example', 'stripe', '', NULL, 'd', n
  FROM generate_series(1, 20000) AS n;
  INSERT INTO counterfoil.requests SELECT id, 'POST', 'https://carrier.example', NULL, NULL, 'd', '{}'
  FROM counterfoil.obligations WHERE operation_key LIKE 'full/%';
  INSERT INTO counterfoil.progress (obligation_id, effect, destination, state, reached, fence, generation, tries, lookups,
    crashes, updated_at, due_at)
  SELECT id, effect, destination, 'owed', 'no', 0, 1, 0, 0, 0, 1, 1e13::bigint FROM counterfoil.obligations
  WHERE operation_key LIKE 'full/%'`;

/** Rows of our tables that this connection has read lately, by either way. */
async function rowsRead(tx: StoreTx): Promise<number> {
  const [row] = await tx.run(
    `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_xact_user_tables
     WHERE schemaname = 'counterfoil'`,
    [],
  );
  return Number(row?.["read"]);
}

test("a plan that was made while the tables were empty reads a handful of rows when they are full", async () => {
  const database = await migratedDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const store = storeAt(database.url, { pool: poolAt(database.url, { connectionsMax: 1 }) });
  await store.open();
  onTestFinished(() => store.close());
  const kept = <T>(body: (tx: StoreTx) => Promise<T>): Promise<T> =>
    store.transaction(body, { waitMs: 5_000, plansKept: true });
  /** A turn of a worker: claims what is due, then ends it; gives how many rows it has read. */
  const turn = async (key: string): Promise<number> => {
    await kept((tx) => tx.owe([obligationDraft({ operationKey: key })]));
    return kept(async (tx) => {
      expect(await tx.dueLanes()).toEqual([lane]);
      const claims = await tx.claim({ lanes: [{ ...lane, limit: 5 }], worker: "w", leaseMs: 60_000 });
      expect(claims).toHaveLength(1);
      const [claim] = claims;
      if (!claim) throw new Error("nothing was claimed");
      const moved = await tx.move([moveOf(claim, { state: "done", dueAt: null }, { attempt: attemptEnd() })]);
      expect(moved).toEqual([true]);
      return rowsRead(tx);
    });
  };
  for (let round = 0; round < 8; round += 1) await turn(`empty/${round}`);
  await ask(database.url, full);
  for (let round = 0; round < 8; round += 1) expect(await turn(`full/late/${round}`)).toBeLessThan(1_000);
});
