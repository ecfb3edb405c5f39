/**
 * No statement of the engine's own reads a table row by row that grows with the work done: each is explained
 * with its own values, on tables with rows and statistics enough for the planner to mind.
 */
import { Client } from "pg";
import { expect, onTestFinished, test, vi } from "vitest";
import { ask } from "../../../test/support/postgres-query.ts";
import { migratedDatabase, storeAt } from "./bundle.conformance.ts";
import { readEverything, useEverything } from "./use-everything.conformance.ts";

/** Small whatever was done: what a worker or an operator writes seldom. */
const small = new Set(["destinations", "connections", "workers", "refusals", "touches", "migrations", "notices"]);

/** Rows that a statement may go through to give, or change, a handful. */
const fewRows = 100;

/** Counts of everything read an index, or a narrow table, from end to end. */
const counting = /count\(\*\)|sum\(times\)/;

const rows = 20_000;

/** History: events that were applied and obligations that are done, and a few of everything else. */
const history = `
  INSERT INTO counterfoil.receipts (connection, account, event_id, tenant, type, digest, secret_id, outcome, received_at,
    decided_at, tries, version)
  SELECT 'stripe', 'acct_' || n % 10, 'old_' || n, 'acme', 'order.paid', 'v1:x', 's', 'applied', n, n, 0, 1
  FROM generate_series(1, ${rows}) AS n;
  INSERT INTO counterfoil.payloads SELECT id, 'x', '[]', 1e13::bigint + id FROM counterfoil.receipts;
  INSERT INTO counterfoil.redelivered SELECT id, 1 FROM counterfoil.receipts;
  INSERT INTO counterfoil.redeliveries SELECT id, 1, 1, NULL FROM counterfoil.receipts;
  INSERT INTO counterfoil.mismatches SELECT id, 'd', 1, id % 500 = 0, 'x', '[]' FROM counterfoil.receipts;
  INSERT INTO counterfoil.replays SELECT connection, account, type, 'd' || id, id, 1 FROM counterfoil.receipts;
  INSERT INTO counterfoil.obligations (tenant, operation_key, effect, destination, connection, account, receipt_id,
    input_digest, created_at, state, reached, fence, generation, tries, lookups, crashes, updated_at)
  SELECT 'tenant_' || n % 10, 'old/' || n, 'ship/v1', 'https://carrier.example', 'stripe', '', n, 'd', n, 'done', 'yes',
    1, 1, 0, 0, 0, n FROM generate_series(1, ${rows}) AS n;
  INSERT INTO counterfoil.requests SELECT id, 'POST', 'https://carrier.example', NULL, NULL, 'd', '{}' FROM counterfoil.obligations;
  INSERT INTO counterfoil.attempts SELECT id, 1, 'send', 1, 'w', 1, 2, 'done' FROM counterfoil.obligations;
  INSERT INTO counterfoil.answers SELECT id, 1, 200, 'x', false FROM counterfoil.obligations;
  INSERT INTO counterfoil.snapshots SELECT 'projects', '', 'project', 'old_' || n, 1, 'd', '{}', 1
  FROM generate_series(1, ${rows}) AS n;
  INSERT INTO counterfoil.refreshes (connection, account, kind, id, tenant, ticket, again, tries, updated_at)
  SELECT 'shop', '', 'customer', 'c_' || n, 'acme', 1, false, 0, 1 FROM generate_series(1, ${rows}) AS n;
  INSERT INTO counterfoil.audit (at, who, action, target) SELECT 1, 'a', 'b', 'receipt/' || n
  FROM generate_series(1, ${rows}) AS n;
  UPDATE counterfoil.obligations SET state = NULL WHERE id % 4 = 0;
  INSERT INTO counterfoil.progress (obligation_id, effect, destination, state, reached, fence, generation, tries, lookups,
    crashes, updated_at, due_at, lease_worker, lease_until)
  SELECT id, effect, destination, CASE id % 1000 WHEN 0 THEN 'stuck' ELSE 'owed' END, 'no', 1, 1, 0, 0, 0, 1,
    CASE WHEN id % 1000 > 0 AND id % 100 > 0 THEN 1e13::bigint END,
    CASE WHEN id % 1000 > 0 AND id % 100 = 0 THEN 'w' END,
    CASE WHEN id % 1000 > 0 AND id % 100 = 0 THEN 1e13::bigint END
  FROM counterfoil.obligations WHERE state IS NULL`;

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly Plan[];
}

/** Every node of a plan that reads a table. */
function scansOf(plan: Plan): readonly Plan[] {
  return [...(plan["Node Type"].includes("Scan") ? [plan] : []), ...(plan.Plans ?? []).flatMap(scansOf)];
}

function readRows(plan: Plan): number {
  const removed = (plan["Rows Removed by Filter"] ?? 0) + (plan["Rows Removed by Index Recheck"] ?? 0);
  return (plan["Actual Rows"] + removed) * plan["Actual Loops"];
}

interface Asked {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** The statements of ours that a run sends, each once. */
async function statementsOf(run: () => Promise<void>): Promise<readonly Asked[]> {
  const query = vi.spyOn(Client.prototype, "query");
  try {
    await run();
    const asked = query.mock.calls.map(([config]) => config as unknown as Asked);
    const ours = asked.filter(({ text }) => text.includes('counterfoil".') && !text.includes(".migrations"));
    return [...new Map(ours.map((each) => [each.text, each])).values()];
  } finally {
    query.mockRestore();
  }
}

test("every statement finds its rows by an index", async () => {
  const database = await migratedDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  await ask(database.url, history);
  await ask(database.url, "VACUUM ANALYZE");
  const statements = await statementsOf(async () => {
    const store = storeAt(database.url);
    await store.open();
    await useEverything(store);
    await readEverything(store);
    await store.close();
  });
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  const found: string[] = [];
  for (const { text, values = [] } of statements) {
    await client.query("BEGIN");
    const explained = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`, [...values]);
    await client.query("ROLLBACK");
    const [{ Plan: plan }] = explained.rows[0]["QUERY PLAN"] as [{ Plan: Plan }];
    for (const scan of scansOf(plan)) {
      const table = scan["Relation Name"] ?? "";
      const isFull = scan["Node Type"] === "Seq Scan" || readRows(scan) > fewRows;
      if (!isFull || small.has(table) || /^(?:pg_|$)/.test(table) || counting.test(text)) continue;
      found.push(`${scan["Node Type"]} of ${readRows(scan)} rows in ${scan["Index Name"] ?? table}: ${text}`);
    }
  }
  expect(statements.length).toBeGreaterThan(60);
  expect(found).toEqual([]);
});
