import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { commit } from "../conformance/bundle.conformance.ts";
import { claimedId, obligationDraft } from "../conformance/drafts.conformance.ts";
import { sqliteBundle } from "./bundle.conformance.ts";

test("what is too much to be counted one by one is what the highest id says", async () => {
  const { store, path, dispose } = await sqliteBundle();
  onTestFinished(dispose);
  await claimedId(store, { eventId: "evt_1" });
  await commit(store, (tx) => tx.owe([obligationDraft()]));
  const small = await store.reader.counts();
  expect(small).toMatchObject({ receipts: { applied: 1 }, obligations: { owed: 1 }, deliveries: 1 });
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(
    "UPDATE sqlite_sequence SET seq = 6999999 WHERE name IN ('counterfoil_receipts', 'counterfoil_obligations')",
  );
  await claimedId(store, { eventId: "evt_2" });
  await commit(store, (tx) => tx.owe([obligationDraft({ operationKey: "k2" })]));
  expect(await store.reader.counts()).toMatchObject({
    receipts: { applied: 7_000_000 },
    obligations: { owed: 2, done: 6_999_998 },
    deliveries: 7_000_000,
    mismatches: 0,
  });
});
