import { describe, expect, test } from "vitest";
import {
  type ClaimedRefresh,
  type RefreshClaim,
  type RefreshDraft,
  type RefreshEnd,
  unknownRevision,
} from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { snapshotDraft } from "./drafts.conformance.ts";

const draft: RefreshDraft = { tenant: "acme", connection: "shop", account: "", kind: "customer", id: "c-1" };
const leaseMs = 60_000;

/** Refreshes: one running and one waiting, and a ticket that only grows. */
export function exerciseRefreshes(make: MakeBundle): void {
  describe("refreshes", () => {
    const bundle = eachBundle(make);
    const want = (...drafts: readonly RefreshDraft[]): Promise<void> =>
      commit(bundle().store, (tx) => tx.wantRefreshes(drafts));
    const claim = (limit = 10, kind = "customer"): Promise<readonly ClaimedRefresh[]> =>
      commit(bundle().other, (tx) => tx.claimRefreshes({ kind, limit, leaseMs }));
    const claimed = async (): Promise<ClaimedRefresh> => (await claim())[0]!;
    const end = (from: RefreshClaim, how: Partial<RefreshEnd> = {}): Promise<boolean> =>
      commit(bundle().store, (tx) => tx.endRefresh({ ...from, tries: 0, dueAt: null, reason: null, ...how }));
    const read = () => bundle().store.reader.refresh(draft);

    test("however often it is wanted, one is owed, and it is given once", async () => {
      await want(draft, draft);
      await want(draft);
      expect(await claim()).toEqual([{ ...draft, ticket: 1, tries: 0, kept: unknownRevision }]);
      expect(await claim()).toEqual([]);
      expect(await read()).toMatchObject({ ticket: 1, running: true });
    });

    test.each(["7", "-12345678901234567890", unknownRevision])(
      "a claim says which revision was kept: %s",
      async (revision) => {
        const { tenant: _, ...key } = draft;
        await commit(bundle().store, (tx) => tx.snapshot(snapshotDraft({ ...key, revision })));
        await want(draft);
        expect(await claim()).toMatchObject([{ kept: revision }]);
      },
    );

    test("what is wanted while one is running is owed once more at its end", async () => {
      await want(draft);
      const first = await claimed();
      await want(draft);
      await want(draft);
      expect(await claim()).toEqual([]);
      expect(await end(first)).toBe(true);
      const second = await claimed();
      expect(second.ticket).toBe(2);
      expect(await end(second)).toBe(true);
      expect(await claim()).toEqual([]);
      expect(await read()).toMatchObject({ ticket: 2, running: false, dueAt: null, reason: null });
    });

    test("a claim whose end has come is given again, and its holder ends nothing any more", async () => {
      await want(draft);
      const lost = await claimed();
      bundle().clock.advance(leaseMs);
      const next = await claimed();
      expect(next.ticket).toBe(2);
      expect(await end(lost, { reason: "late" })).toBe(false);
      expect(await read()).toMatchObject({ ticket: 2, running: true, reason: null });
      expect(await end(next)).toBe(true);
      expect(await end(next)).toBe(false);
    });

    test("one that failed waits for its time, also when it is wanted meanwhile", async () => {
      await want(draft);
      const first = await claimed();
      await commit(bundle().store, (tx) =>
        tx.endRefresh({ ...first, tries: 1, dueAt: tx.now + 5_000, reason: "status 429" }),
      );
      await want(draft);
      bundle().clock.advance(4_999);
      expect(await claim()).toEqual([]);
      bundle().clock.advance(1);
      expect(await claim()).toMatchObject([{ ticket: 2, tries: 1 }]);
    });

    test("one that failed for good is the operator's until it is wanted again", async () => {
      await want(draft, { ...draft, id: "c-2" });
      for (const each of await claim()) await end(each, { tries: 30, reason: `status 500 of ${each.id}` });
      bundle().clock.advance(100_000_000);
      expect(await claim()).toEqual([]);
      const { reader } = bundle().store;
      const attention = await reader.attention({ limit: 1 });
      expect(attention).toMatchObject([{ kind: "refresh", refresh: { id: "c-1", reason: "status 500 of c-1" } }]);
      expect(await reader.attention({ limit: 9, after: attention[0]?.cursor })).toMatchObject([
        { refresh: { id: "c-2" } },
      ]);
      await want(draft);
      expect(await claim()).toMatchObject([{ id: "c-1", tries: 0 }]);
      expect(await reader.attention({ limit: 9 })).toMatchObject([{ refresh: { id: "c-2" } }]);
    });

    test("they are counted, by what is due since when, and listed page by page", async () => {
      const { reader } = bundle().store;
      const [c1, c2, other, invoice] = [
        draft,
        { ...draft, id: "c-2" },
        { ...draft, connection: "other", id: "c-3" },
        { ...draft, kind: "invoice" },
      ] as const;
      const now = await commit(bundle().store, async (tx) => tx.now);
      await want(c1, c2, other);
      bundle().clock.advance(1);
      await want(invoice);
      const due = [
        { kind: "customer", at: now },
        { kind: "invoice", at: now + 1 },
      ];
      expect((await reader.counts()).refreshes).toEqual({ owed: 4, failed: 0, due });
      const [running] = await claim(1, "invoice");
      const [first, second] = await claim(2);
      await end(first!, { tries: 30, reason: "status 500" });
      await end(second!);
      expect((await reader.counts()).refreshes).toEqual({ owed: 2, failed: 1, due: [{ kind: "customer", at: now }] });
      const listed = await reader.refreshes({}, { limit: 9 });
      const ended = new Set([first?.id, second?.id]);
      const waiting = [c1, c2, other].find(({ id }) => !ended.has(id))!;
      const named = (of: readonly { readonly connection: string; readonly kind: string; readonly id: string }[]) =>
        of.map(({ connection, kind, id }) => [connection, kind, id].join(" ")).toSorted();
      expect(named(listed)).toEqual(named([running!, first!, waiting]));
      const pages = [];
      for (let after: string | undefined; ; after = pages.at(-1)?.cursor) {
        const page = await reader.refreshes({}, { limit: 1, after });
        if (page.length === 0) break;
        pages.push(...page);
      }
      expect(pages).toEqual(listed);
      expect(named(await reader.refreshes({ connection: "shop" }, { limit: 9 }))).toEqual(
        named([running!, first!, waiting].filter(({ connection }) => connection === "shop")),
      );
      await expect(reader.refreshes({}, { limit: 1, after: "page 2" })).rejects.toThrow(RangeError);
    });

    test("a kind that nobody has asked for an hour needs a person, once for all of its resources", async () => {
      const { reader } = bundle().store;
      const now = await commit(bundle().store, async (tx) => tx.now);
      await want(draft, { ...draft, id: "c-2" }, { ...draft, kind: "invoice" });
      bundle().clock.advance(3_599_999);
      expect(await reader.attention({ limit: 9 })).toEqual([]);
      bundle().clock.advance(1);
      const items = await reader.attention({ limit: 9 });
      expect(items).toMatchObject([
        { kind: "resource", resource: "customer", dueAt: now },
        { kind: "resource", resource: "invoice", dueAt: now },
      ]);
      expect(await reader.attention({ limit: 9, after: items[0]?.cursor })).toEqual(items.slice(1));
      await claim();
      expect(await reader.attention({ limit: 9 })).toMatchObject([{ resource: "invoice" }]);
    });

    test("one that is taken back is owed no more, until it is wanted again; one that runs stays", async () => {
      const drop = async (refresh = read()): Promise<boolean> => {
        const found = (await refresh)!;
        return commit(bundle().store, (tx) => tx.dropRefresh(found));
      };
      await want(draft);
      const seen = read();
      await seen;
      bundle().clock.advance(1);
      await want(draft);
      expect(await drop(seen), "it was wanted since it was read").toBe(false);
      expect(await drop()).toBe(true);
      expect(await read()).toMatchObject({ dueAt: null, reason: null, running: false });
      expect(await drop(), "nothing is owed").toBe(false);
      expect(await claim()).toEqual([]);
      await want(draft);
      const running = await claimed();
      expect(await drop(), "it runs").toBe(false);
      bundle().clock.advance(leaseMs);
      expect(await drop()).toBe(true);
      expect(await end(running)).toBe(false);
      await want(draft);
      await end(await claimed(), { tries: 1, reason: "status 404" });
      expect(await drop()).toBe(true);
      expect(await bundle().store.reader.attention({ limit: 9 })).toEqual([]);
    });

    test("kinds are claimed apart, the oldest first, and no more than asked", async () => {
      for (const id of ["c-3", "c-1", "c-2"]) {
        await want({ ...draft, id });
        bundle().clock.advance(1);
      }
      await want({ ...draft, kind: "invoice" }, { ...draft, account: "acct" });
      expect((await claim(2)).map(({ id }) => id).toSorted()).toEqual(["c-1", "c-3"]);
      expect((await claim()).map(({ id, account }) => `${account}${id}`).toSorted()).toEqual(["acctc-1", "c-2"]);
      expect(await claim(10, "invoice")).toHaveLength(1);
    });
  });
}
