import { expect, onTestFinished, test } from "vitest";
import { ask } from "../../../test/support/postgres-query.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import { claimedId, obligationDraft } from "../conformance/drafts.conformance.ts";
import { migratedDatabase, storeAt } from "./bundle.conformance.ts";

test("what is too much to be counted one by one is what the planner takes it for", async () => {
  // Not a borrowed one: what the planner takes its tables for outlives the rows that a later test finds deleted.
  const database = await migratedDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const store = storeAt(database.url);
  onTestFinished(() => store.close());
  await store.open();
  await claimedId(store, { eventId: "evt_1" });
  await commit(store, (tx) => tx.owe([obligationDraft()]));
  const small = await store.reader.counts();
  expect(small).toMatchObject({ receipts: { applied: 1 }, obligations: { owed: 1 }, deliveries: 1 });
  await ask(
    database.url,
    "UPDATE pg_class SET reltuples = 7e6 WHERE relname IN ('receipts', 'obligations', 'redelivered')",
  );
  const large = await store.reader.counts();
  expect(large).toMatchObject({
    receipts: { applied: 7_000_000 },
    obligations: { owed: 1, done: 6_999_999 },
    deliveries: 14_000_000,
    mismatches: 0,
  });
});
