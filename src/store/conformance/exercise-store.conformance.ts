import { describe } from "vitest";
import { exerciseAttempts } from "./attempts.conformance.ts";
import type { MakeBundle } from "./bundle.conformance.ts";
import { exerciseClaims } from "./claims.conformance.ts";
import { exerciseEffectOrders } from "./effect-orders.conformance.ts";
import { exerciseEvidence } from "./evidence.conformance.ts";
import { exerciseFences } from "./fences.conformance.ts";
import { exerciseHope } from "./hope.conformance.ts";
import { exerciseInspecting } from "./inspect.conformance.ts";
import { exerciseLeases } from "./leases.conformance.ts";
import { exerciseMigrating } from "./migrating.conformance.ts";
import { exerciseNotices } from "./notices.conformance.ts";
import { exerciseObligations } from "./obligations.conformance.ts";
import { exerciseOpenReceipts } from "./open-receipts.conformance.ts";
import { exerciseOrders } from "./orders.conformance.ts";
import { exercisePruning } from "./prune.conformance.ts";
import { exerciseQueries } from "./queries.conformance.ts";
import { exerciseReading } from "./reading.conformance.ts";
import { exerciseReceipts } from "./receipts.conformance.ts";
import { exerciseRedeliveries } from "./redeliveries.conformance.ts";
import { exerciseRefreshes } from "./refreshes.conformance.ts";
import { exerciseReplays } from "./replays.conformance.ts";
import { exerciseSnapshots } from "./snapshots.conformance.ts";
import { exerciseTransactions } from "./transactions.conformance.ts";
import { exerciseUpkeep } from "./upkeep.conformance.ts";
import { exerciseWithdrawals } from "./withdrawals.conformance.ts";

/** Holds an engine to the whole contract of `store.ts` and `reader.ts`, on a real database with two live handles. */
export function exerciseStore(name: string, make: MakeBundle): void {
  describe(name, () => {
    exerciseMigrating(make);
    exerciseTransactions(make);
    exerciseAttempts(make);
    exerciseHope(make);
    exerciseQueries(make);
    exerciseReceipts(make);
    exerciseRedeliveries(make);
    exerciseReplays(make);
    exerciseOpenReceipts(make);
    exerciseOrders(make);
    exerciseObligations(make);
    exerciseWithdrawals(make);
    exerciseEffectOrders(make);
    exerciseClaims(make);
    exerciseFences(make);
    exerciseLeases(make);
    exerciseEvidence(make);
    exerciseSnapshots(make);
    exerciseRefreshes(make);
    exerciseReading(make);
    exerciseUpkeep(make);
    exercisePruning(make);
    exerciseInspecting(make);
    exerciseNotices(make);
  });
}
