import { describe, expect, test } from "vitest";
import { commit, eachBundle, type MakeBundle, rollBack } from "./bundle.conformance.ts";
import { bytesOf, claimedId, receiptDraft, settledReceipt } from "./drafts.conformance.ts";

/** Claiming the keys of events and writing decisions. */
export function exerciseReceipts(make: MakeBundle): void {
  describe("receipts", () => {
    const bundle = eachBundle(make);

    test("a fresh event is kept as applied, with its bytes, once its transaction commits", async () => {
      const { store, other } = bundle();
      const draft = receiptDraft({ account: "acct_1" });
      const { claimed, stamp } = await commit(store, async (tx) => ({
        claimed: await tx.claimReceipts([draft]),
        stamp: tx.stamp,
      }));
      expect(claimed).toMatchObject([{ kind: "fresh" }]);
      const [receipt] = await other.reader.receipts({}, { limit: 10 });
      const { payload, bytesKeptMs: _, replay: __, ...facts } = draft;
      expect(receipt).toEqual({
        ...facts,
        id: claimed[0]?.kind === "fresh" && claimed[0].id,
        outcome: "applied",
        reason: null,
        receivedAt: stamp.wallMs,
        decidedAt: stamp.wallMs,
        deliveries: 1,
        tries: 0,
        starts: 0,
        dueAt: null,
        deadlineAt: null,
        orderKey: null,
        version: 1,
      });
      expect(await other.reader.payload(receipt!.id)).toEqual(payload);
    });

    test("a transaction that is rolled back leaves nothing", async () => {
      const { store } = bundle();
      await rollBack(store, (tx) => tx.claimReceipts([receiptDraft()]));
      expect(await store.reader.receipts({}, { limit: 10 })).toEqual([]);
      expect(await claimedId(store)).toBeGreaterThan(0);
    });

    test("a known event is given back as it was decided, and nothing of it is written", async () => {
      const { store, other } = bundle();
      const id = await claimedId(store);
      await commit(store, (tx) =>
        tx.settleReceipts([settledReceipt({ id, outcome: "refused", reason: "paid before" })]),
      );
      const again = receiptDraft({
        digest: "v1:other",
        type: "other",
        payload: { bytes: bytesOf("other"), headers: "[]" },
      });
      const [claimed] = await commit(other, (tx) => tx.claimReceipts([again]));
      expect(claimed).toMatchObject({
        kind: "known",
        receipt: { id, outcome: "refused", reason: "paid before", digest: "v1:digest", type: "order.paid", version: 2 },
      });
      expect((await store.reader.payload(id))?.bytes).toEqual(receiptDraft().payload.bytes);
    });

    test("the same id under another connection or account is another event", async () => {
      const { store } = bundle();
      const drafts = [
        receiptDraft(),
        receiptDraft({ connection: "stripe-2" }),
        receiptDraft({ account: "acct_1" }),
        receiptDraft({ account: "acct_2" }),
      ];
      const claimed = await commit(store, (tx) => tx.claimReceipts(drafts));
      expect(claimed.map(({ kind }) => kind)).toEqual(["fresh", "fresh", "fresh", "fresh"]);
    });

    test("ids compare as bytes and are never cut", async () => {
      const { store } = bundle();
      const long = "x".repeat(511);
      const ids = [
        "a",
        "A",
        "a ",
        " a",
        "é",
        "e\u0301",
        "0",
        "00",
        "1e1",
        "10",
        `${long}1`,
        `${long}2`,
        "💶",
        "%",
        "_",
      ];
      const drafts = ids.map((eventId) => receiptDraft({ eventId }));
      const first = await commit(store, (tx) => tx.claimReceipts(drafts));
      const second = await commit(store, (tx) => tx.claimReceipts(drafts));
      expect(new Set(first.map(({ kind }) => kind))).toEqual(new Set(["fresh"]));
      expect(second.map((claimed) => claimed.kind === "known" && claimed.receipt.eventId)).toEqual(ids);
    });

    test("bytes come back as they came, whatever they are", async () => {
      const { store } = bundle();
      const every = Uint8Array.from({ length: 256 }, (_, value) => value);
      const escaped = bytesOf(String.raw`{"note":"a\u0000b","number":9007199254740993,"text":"\\u0000"}`);
      const bom = Uint8Array.of(0xef, 0xbb, 0xbf, 0x7b, 0x7d);
      for (const [index, bytes] of [every, escaped, bom, new Uint8Array(), every.subarray(10, 20)].entries()) {
        const headers = String.raw`[["x-note","a\u0000b"]]`;
        const id = await claimedId(store, { eventId: `evt_${index}`, payload: { bytes, headers } });
        expect(await store.reader.payload(id)).toEqual({ bytes: Uint8Array.from(bytes), headers });
      }
    });

    test("of many claims of one event at once, from both handles, one is fresh", async () => {
      const { store, other } = bundle();
      const claims = Array.from({ length: 20 }, (_, index) =>
        commit(index % 2 ? store : other, (tx) => tx.claimReceipts([receiptDraft()])),
      );
      const kinds = (await Promise.all(claims)).map(([claimed]) => claimed?.kind);
      expect(kinds.filter((kind) => kind === "fresh")).toHaveLength(1);
      expect(kinds.filter((kind) => kind === "known")).toHaveLength(19);
    });

    test("a decision is written under the version it was made on; another one changes nothing", async () => {
      const { store, other, clock } = bundle();
      const id = await claimedId(store);
      clock.advance(1_000);
      const held = { outcome: "held", reason: "TypeError", tries: 1 } as const;
      const write = (version: number, dueAt: number) => (tx: Parameters<Parameters<typeof commit>[1]>[0]) =>
        tx.settleReceipts([
          settledReceipt({ id, version, ...held, dueAt: tx.now + dueAt, deadlineAt: tx.now + 9_000 }),
        ]);
      expect(await commit(store, write(1, 5_000))).toEqual([true]);
      expect(await commit(other, write(1, 7_000))).toEqual([false]);
      const detail = await store.reader.receipt(id);
      const { receivedAt } = detail!.receipt;
      expect(detail?.receipt).toMatchObject({
        ...held,
        version: 2,
        decidedAt: receivedAt + 1_000,
        dueAt: receivedAt + 6_000,
        deadlineAt: receivedAt + 10_000,
      });
      expect(await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, version: 2 })]))).toEqual([true]);
      expect((await store.reader.receipt(id))?.receipt).toMatchObject({ outcome: "applied", version: 3, dueAt: null });
    });

    test("reading an event again may tell its tenant and type", async () => {
      const { store } = bundle();
      const id = await claimedId(store, { tenant: "", type: "" });
      const identity = { tenant: "globex", type: "order.refunded" };
      await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, identity })]));
      expect((await store.reader.receipt(id))?.receipt).toMatchObject(identity);
      await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, version: 2 })]));
      expect((await store.reader.receipt(id))?.receipt).toMatchObject(identity);
    });

    test("bytes of an applied event go when their time has come, and not before; the receipt stays", async () => {
      const { store, clock } = bundle();
      const id = await claimedId(store, { bytesKeptMs: 1_000 });
      clock.advance(999);
      expect(await commit(store, (tx) => tx.expireBytes(10))).toBe(0);
      clock.advance(1);
      expect(await commit(store, (tx) => tx.expireBytes(10))).toBe(1);
      expect(await store.reader.payload(id)).toBeUndefined();
      expect(await store.reader.receipt(id)).toMatchObject({ bytes: null, receipt: { outcome: "applied" } });
      expect(await commit(store, (tx) => tx.claimReceipts([receiptDraft()]))).toMatchObject([{ kind: "known" }]);
    });

    test("a decision says when bytes may go: never, at an instant, or now", async () => {
      const { store, clock } = bundle();
      const ids: number[] = [];
      for (const eventId of ["never", "later", "now"]) {
        ids.push(await claimedId(store, { eventId, bytesKeptMs: 1_000 }));
      }
      const [never = 0, later = 0, now = 0] = ids;
      await commit(store, (tx) =>
        tx.settleReceipts([
          settledReceipt({ id: never, outcome: "held", bytesExpireAt: null }),
          settledReceipt({ id: later, outcome: "ignored", bytesExpireAt: tx.now + 5_000 }),
          settledReceipt({ id: now, bytesExpireAt: "now" }),
        ]),
      );
      const left = async () => Promise.all(ids.map(async (id) => (await store.reader.receipt(id))?.bytes !== null));
      expect(await left()).toEqual([true, true, false]);
      clock.advance(4_999);
      expect(await commit(store, (tx) => tx.expireBytes(10))).toBe(0);
      clock.advance(100_000_000);
      expect(await commit(store, (tx) => tx.expireBytes(10))).toBe(1);
      expect(await left()).toEqual([true, false, false]);
    });

    test("bytes go in batches as large as asked", async () => {
      const { store, clock } = bundle();
      const drafts = Array.from({ length: 5 }, (_, index) => receiptDraft({ eventId: `evt_${index}`, bytesKeptMs: 1 }));
      await commit(store, (tx) => tx.claimReceipts(drafts));
      clock.advance(1);
      const removed: number[] = [];
      for (let round = 0; round < 4; round += 1) removed.push(await commit(store, (tx) => tx.expireBytes(2)));
      expect(removed).toEqual([2, 2, 1, 0]);
    });

    test("a discarded claim leaves nothing, so that the sender's next try is fresh", async () => {
      const { store } = bundle();
      await commit(store, async (tx) => {
        const claimed = await tx.claimReceipts([receiptDraft({ eventId: "kept" }), receiptDraft()]);
        await tx.discardReceipts(claimed.slice(1).map((claim) => (claim.kind === "fresh" ? claim.id : 0)));
      });
      expect((await store.reader.receipts({}, { limit: 10 })).map(({ eventId }) => eventId)).toEqual(["kept"]);
      const id = await claimedId(store);
      expect((await store.reader.payload(id))?.bytes).toEqual(receiptDraft().payload.bytes);
    });
  });
}
