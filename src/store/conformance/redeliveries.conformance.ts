import { describe, expect, test } from "vitest";
import type { Redelivery } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { bytesOf, claimedId } from "./drafts.conformance.ts";

function mismatch(digest: string): Redelivery["mismatch"] {
  return { digest, payload: { bytes: bytesOf(digest), headers: "[]" } };
}

/** Later deliveries of known events, and other contents under their ids. */
export function exerciseRedeliveries(make: MakeBundle): void {
  describe("redeliveries", () => {
    const bundle = eachBundle(make);

    test("each redelivery is counted and recorded with its instant", async () => {
      const { store, other, clock } = bundle();
      const receiptId = await claimedId(store);
      clock.advance(1_000);
      await commit(other, (tx) => tx.recordRedeliveries([{ receiptId, mismatch: null }]));
      clock.advance(1_000);
      await commit(store, (tx) => tx.recordRedeliveries([{ receiptId, mismatch: mismatch("v1:other") }]));
      const detail = await store.reader.receipt(receiptId);
      const { receivedAt } = detail!.receipt;
      expect(detail).toMatchObject({ receipt: { deliveries: 3, version: 1, decidedAt: receivedAt }, mismatches: 1 });
      expect(detail?.redeliveries).toEqual([
        { at: receivedAt + 1_000, digest: null },
        { at: receivedAt + 2_000, digest: "v1:other" },
      ]);
      expect(await store.reader.counts()).toMatchObject({ deliveries: 3, mismatches: 1, receipts: { applied: 1 } });
    });

    test("records of one event are bounded, its count is not", async () => {
      const { store } = bundle();
      const receiptId = await claimedId(store);
      const redeliveries = Array.from({ length: 100 }, (_, index) => ({
        receiptId,
        mismatch: mismatch(`v1:${index}`),
      }));
      await commit(store, (tx) => tx.recordRedeliveries(redeliveries));
      const detail = await store.reader.receipt(receiptId);
      expect(detail?.receipt.deliveries).toBe(101);
      expect(detail?.redeliveries).toHaveLength(32);
      expect(detail?.mismatches).toBe(16);
    });

    test("the same other content is one mismatch, however often it comes", async () => {
      const { store } = bundle();
      const receiptId = await claimedId(store);
      for (let time = 0; time < 3; time += 1) {
        await commit(store, (tx) => tx.recordRedeliveries([{ receiptId, mismatch: mismatch("v1:other") }]));
      }
      expect(await store.reader.receipt(receiptId)).toMatchObject({ mismatches: 1, receipt: { deliveries: 4 } });
    });

    test("an acknowledged mismatch leaves the operator's list for good", async () => {
      const { store } = bundle();
      const receiptId = await claimedId(store);
      const deliver = (digest: string) =>
        commit(store, (tx) => tx.recordRedeliveries([{ receiptId, mismatch: mismatch(digest) }]));
      await deliver("v1:one");
      await deliver("v1:two");
      expect(await store.reader.attention({ limit: 10 })).toMatchObject([
        { kind: "receipt", receipt: { id: receiptId }, mismatches: 2 },
      ]);
      expect(await commit(store, (tx) => tx.acknowledgeMismatches(receiptId))).toBe(2);
      expect(await commit(store, (tx) => tx.acknowledgeMismatches(receiptId))).toBe(0);
      await deliver("v1:one");
      expect(await store.reader.attention({ limit: 10 })).toEqual([]);
      await deliver("v1:three");
      expect(await store.reader.receipt(receiptId)).toMatchObject({ mismatches: 1 });
    });
  });
}
