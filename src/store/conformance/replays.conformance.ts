import { describe, expect, test } from "vitest";
import type { ReceiptDraft } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { claimedId, receiptDraft } from "./drafts.conformance.ts";

const replay = { digest: "body-1", windowMs: 10_000 };

/** The second key of events whose id is not signed. */
export function exerciseReplays(make: MakeBundle): void {
  describe("replays", () => {
    const bundle = eachBundle(make);
    const claim = async (draft: Partial<ReceiptDraft>) =>
      (await commit(bundle().store, (tx) => tx.claimReceipts([receiptDraft({ replay, ...draft })])))[0];

    test("the same content under another id inside the window is a suspect, with its bytes, and names the original", async () => {
      const { store, clock } = bundle();
      const original = await claimedId(store, { replay });
      clock.advance(9_999);
      const claimed = await claim({ eventId: "evt_2" });
      expect(claimed).toMatchObject({ kind: "replayed", original: { id: original, eventId: "evt_1" } });
      const [suspect] = await store.reader.receipts({ outcome: "suspect" }, { limit: 10 });
      expect(suspect).toMatchObject({ eventId: "evt_2", outcome: "suspect", version: 1 });
      clock.advance(100_000_000);
      expect(await commit(store, (tx) => tx.expireBytes(10))).toBe(1);
      expect(await store.reader.receipt(suspect!.id)).toMatchObject({ bytes: receiptDraft().payload.bytes.length });
    });

    test("outside the window it is fresh, and the window begins anew", async () => {
      const { clock } = bundle();
      expect(await claim({})).toMatchObject({ kind: "fresh" });
      clock.advance(10_000);
      expect(await claim({ eventId: "evt_2" })).toMatchObject({ kind: "fresh" });
      clock.advance(9_999);
      expect(await claim({ eventId: "evt_3" })).toMatchObject({ kind: "replayed", original: { eventId: "evt_2" } });
    });

    test("a suspect does not lengthen the window", async () => {
      const { clock } = bundle();
      await claim({});
      clock.advance(6_000);
      expect(await claim({ eventId: "evt_2" })).toMatchObject({ kind: "replayed" });
      clock.advance(6_000);
      expect(await claim({ eventId: "evt_3" })).toMatchObject({ kind: "fresh" });
    });

    test("a known id is known, whatever its content", async () => {
      await claim({});
      await claim({ eventId: "evt_2", replay: { ...replay, digest: "body-2" } });
      expect(await claim({ eventId: "evt_2" })).toMatchObject({ kind: "known", receipt: { eventId: "evt_2" } });
      expect(await claim({})).toMatchObject({ kind: "known", receipt: { eventId: "evt_1" } });
    });

    test("other types, connections and accounts, and events with a signed id, are apart", async () => {
      await claim({});
      expect(await claim({ eventId: "evt_2", type: "other" })).toMatchObject({ kind: "fresh" });
      expect(await claim({ eventId: "evt_2", connection: "other" })).toMatchObject({ kind: "fresh" });
      expect(await claim({ eventId: "evt_2", account: "acct_1" })).toMatchObject({ kind: "fresh" });
      expect(await claim({ eventId: "evt_4", replay: null })).toMatchObject({ kind: "fresh" });
    });

    test("of two ids with one content in one call the first is fresh", async () => {
      const { store } = bundle();
      const drafts = ["evt_1", "evt_2"].map((eventId) => receiptDraft({ eventId, replay }));
      const claimed = await commit(store, (tx) => tx.claimReceipts(drafts));
      expect(claimed).toMatchObject([{ kind: "fresh" }, { kind: "replayed", original: { eventId: "evt_1" } }]);
    });

    test("a discarded receipt gives its content back", async () => {
      const { store } = bundle();
      await commit(store, async (tx) => {
        const [claimed] = await tx.claimReceipts([receiptDraft({ replay })]);
        await tx.discardReceipts([claimed?.kind === "fresh" ? claimed.id : 0]);
      });
      expect(await claim({})).toMatchObject({ kind: "fresh" });
    });
  });
}
