/** A list by a connection or a tenant takes as long as there is little of it, or as it is near; never as all the others have. */
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { claimedId, owedId } from "../conformance/drafts.conformance.ts";
import { sqliteBundle } from "./bundle.conformance.ts";

const many = 30_000;

test("a rare owner's rows are found behind many of others, by the index and page by page", async () => {
  const { path, store, dispose } = await sqliteBundle();
  onTestFinished(dispose);
  const ids: number[] = [];
  for (const eventId of ["1", "2", "3"]) ids.unshift(await claimedId(store, { connection: "rare", eventId }));
  await owedId(store, { tenant: "rare", operationKey: "k" });
  const id = await claimedId(store, { connection: "busy", eventId: "first" });
  using database = new DatabaseSync(path);
  const numbers = `WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT ${many})`;
  database.exec(`
    ${numbers} INSERT INTO counterfoil_receipts (connection, account, event_id, tenant, type, digest, secret_id, outcome,
      received_at, decided_at, deliveries, tries, version)
      SELECT 'busy', '', value, '', '', '', '', 'applied', 0, 0, 1, 0, 1 FROM n;
    ${numbers} INSERT INTO counterfoil_obligations (tenant, operation_key, effect, destination, connection, account,
      input_digest, state, reached, fence, generation, tries, lookups, crashes, created_at, updated_at)
      SELECT 'busy', value, '', '', '', '', '', 'done', 'yes', 1, 1, 0, 0, 0, 0, 0 FROM n`);
  const { reader } = store;
  const listed = async (...query: Parameters<typeof reader.receipts>) =>
    (await reader.receipts(...query)).map((receipt) => receipt.id);
  expect(await listed({ connection: "rare" }, { limit: 2 })).toEqual(ids.slice(0, 2));
  expect(await listed({ connection: "rare", outcome: "applied" }, { limit: 9, before: ids[1] })).toEqual([ids[2]]);
  expect(await listed({ connection: "nobody" }, { limit: 2 })).toEqual([]);
  expect(await listed({ connection: "busy" }, { limit: 2 })).toEqual([id + many, id + many - 1]);
  expect(await reader.obligations({ tenant: "rare" }, { limit: 9 })).toMatchObject([{ operationKey: "k" }]);
});

test("the walk from the newest has a floor, and the rest is read from the unique index alone", async () => {
  const { path, store, dispose } = await sqliteBundle();
  onTestFinished(dispose);
  const prepare = vi.spyOn(DatabaseSync.prototype, "prepare");
  for (const before of [undefined, 9]) {
    await store.reader.receipts({ connection: "rare" }, { limit: 2, before });
    await store.reader.obligations({ tenant: "rare" }, { limit: 2, before });
  }
  const texts = [...new Set(prepare.mock.calls.map(([text]) => text))].filter((text) => / LIMIT \?/.test(text));
  prepare.mockRestore();
  using database = new DatabaseSync(path);
  const plans = texts.map((text) =>
    (database.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { readonly detail: string }[]).map(({ detail }) => detail),
  );
  expect(plans).toHaveLength(8);
  for (const plan of plans) {
    expect(plan[0]).toMatch(/^SEARCH [or] USING INTEGER PRIMARY KEY \(rowid(>\?|=\?)/);
    const inner = plan.find((detail) => detail.includes("USING COVERING INDEX"));
    if (inner !== undefined) expect(inner).toMatch(/autoindex_counterfoil_\w+_1 \((connection|tenant)=\?/);
  }
  expect(plans.filter((plan) => plan.some((detail) => detail.includes("COVERING INDEX")))).toHaveLength(4);
});
