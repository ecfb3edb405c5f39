/** A process that works on a store file of its parent's: receives a group, claims and settles, or holds the lock. */
import { systemClock } from "../../../src/domain/system-clock.ts";
import {
  attemptEnd,
  moveOf,
  lane,
  obligationDraft,
  receiptDraft,
} from "../../../src/store/conformance/drafts.conformance.ts";
import { storeAt } from "../../../src/store/sqlite/bundle.conformance.ts";
import type { StoreTx } from "../../../src/store/store.ts";
import { answerParent, tellParent } from "../../../src/testing/child.ts";
import { probeFrom } from "../../../src/testing/crash-points.ts";

const [path = ""] = process.argv.slice(2);
const store = storeAt(path, { probe: probeFrom(process.env), clock: systemClock() });
const patience = { waitMs: 30_000 };

/** Receives events, each owing one obligation, in one transaction; gives the ids that were fresh. */
async function receive(eventIds: readonly string[]): Promise<string[]> {
  return store.transaction(async (tx) => {
    const claimed = await tx.claimReceipts(eventIds.map((eventId) => receiptDraft({ eventId })));
    const fresh: string[] = [];
    for (const [index, eventId] of eventIds.entries()) {
      const claim = claimed[index];
      if (claim?.kind !== "fresh") continue;
      fresh.push(eventId);
      await tx.attempt(() => tx.owe([obligationDraft({ operationKey: eventId, receiptId: claim.id })]));
    }
    return fresh;
  }, patience);
}

/** Claims a few that are due and settles them as done; gives the operation keys. */
async function work(worker: string): Promise<string[]> {
  const claim = (tx: StoreTx) => tx.claim({ lanes: [{ ...lane, limit: 5 }], worker, leaseMs: 60_000 });
  const claims = await store.transaction(claim, patience);
  const moves = claims.map((held) => moveOf(held, { state: "done", reached: "yes" }, { attempt: attemptEnd() }));
  const moved = await store.transaction((tx) => tx.move(moves), patience);
  return claims.filter((_, index) => moved[index]).map(({ obligation }) => obligation.operationKey);
}

answerParent({
  receive: async (input) => {
    await store.open();
    return receive(input as string[]);
  },
  work: async (input) => {
    await store.open();
    return work(input as string);
  },
  hold: async () => {
    await store.open();
    await store.transaction(async (tx) => {
      await tx.claimReceipts([receiptDraft({ eventId: "held by a process that dies" })]);
      tellParent("holding");
      // Nothing of this process runs on until it is killed; the lock of the file is held.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }, patience);
  },
  close: async () => store.close(),
});
