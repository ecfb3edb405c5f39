import { describe, expect, test } from "vitest";
import type { DueBounds } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import {
  claimDue,
  claimedId,
  claimedObligation,
  lane,
  moveOf,
  obligationDraft,
  owedId,
  settledReceipt,
} from "./drafts.conformance.ts";

const hour = 3_600_000;
const day = 24 * hour;
const year = 365 * day;

const bounds: DueBounds = {
  receiptsMs: hour,
  deadlinesMs: day,
  refreshesMs: 6 * hour,
  obligations: [{ effect: lane.effect, withinMs: 6 * hour }],
};

/** Who is there to work, and due times that only a wrong clock can have written. */
export function exerciseUpkeep(make: MakeBundle): void {
  describe("workers", () => {
    const bundle = eachBundle(make);

    test("are seen with what they take, the last first, and forgotten when they are long gone", async () => {
      const { store, other, clock } = bundle();
      const sign = { effects: ["ship/v1"], forgetMs: day };
      const start = await commit(store, async (tx) => {
        await tx.seeWorker({ ...sign, name: "a" });
        return tx.now;
      });
      clock.advance(hour);
      await commit(other, (tx) => tx.seeWorker({ ...sign, name: "b" }));
      const b = { name: "b", effects: ["ship/v1"], startedAt: start + hour, seenAt: start + hour, stoppedAt: null };
      const a = { name: "a", effects: ["ship/v1"], startedAt: start, seenAt: start, stoppedAt: null };
      expect((await store.reader.counts()).workers).toEqual([b, a]);
      clock.advance(hour);
      await commit(store, (tx) => tx.seeWorker({ ...sign, name: "a", effects: [] }));
      expect((await store.reader.counts()).workers).toEqual([{ ...a, effects: [], seenAt: start + 2 * hour }, b]);
      clock.advance(day);
      await commit(other, (tx) => tx.seeWorker({ ...sign, name: "c" }));
      expect((await store.reader.counts()).workers.map(({ name }) => name)).toEqual(["c", "a"]);
    });

    test("that ended in order say so, until they are seen again; nobody else's word of them counts", async () => {
      const { store, other, clock } = bundle();
      const sign = { effects: ["ship/v1"], forgetMs: day };
      for (const name of ["a", "b"]) await commit(store, (tx) => tx.seeWorker({ ...sign, name }));
      clock.advance(1_000);
      const stoppedAt = await commit(other, async (tx) => {
        await tx.leaveWorker("a");
        await tx.leaveWorker("never seen");
        return tx.now;
      });
      const stops = async () => {
        const { workers } = await store.reader.counts();
        return Object.fromEntries(workers.map((worker) => [worker.name, worker.stoppedAt]));
      };
      expect(await stops()).toEqual({ a: stoppedAt, b: null });
      await commit(store, (tx) => tx.seeWorker({ ...sign, name: "a" }));
      expect(await stops()).toEqual({ a: null, b: null });
    });
  });

  describe("what is due", () => {
    const bundle = eachBundle(make);

    test("is told by effect, and for events, with the oldest of each; what waits or is paused is not", async () => {
      const { store, clock } = bundle();
      const start = await commit(store, async (tx) => tx.now);
      const owed = { ship: "https://a.example", mail: "https://b.example", later: "https://c.example" };
      for (const [name, destination] of Object.entries(owed)) {
        await owedId(store, { operationKey: name, effect: `${name}/v1`, destination });
        clock.advance(1_000);
      }
      await owedId(store, { operationKey: "ship-2", effect: "ship/v1", destination: "https://d.example" });
      const waiting = await claimedObligation(store, { operationKey: "waiting" });
      await commit(store, (tx) => tx.move([moveOf(waiting, { state: "owed", dueAt: tx.now + hour })]));
      const [held, parked] = [await claimedId(store, { eventId: "1" }), await claimedId(store, { eventId: "2" })];
      await commit(store, (tx) =>
        tx.settleReceipts([
          settledReceipt({ id: held, outcome: "held", dueAt: start + 5_000 }),
          settledReceipt({ id: parked, outcome: "parked", dueAt: start + hour }),
        ]),
      );
      await commit(store, (tx) => tx.pauseDestination("https://b.example", "401"));
      const due = async () => new Map((await store.reader.counts()).due.map(({ effect, at }) => [effect, at]));
      const obligations = [
        ["ship/v1", start],
        ["later/v1", start + 2_000],
      ] as const;
      expect(await due()).toEqual(new Map(obligations));
      clock.advance(5_000);
      expect(await due()).toEqual(new Map<string | null, number>([...obligations, [null, start + 5_000]]));
    });

    test("counts hooks of a paused destination, which call nobody", async () => {
      const { store } = bundle();
      const claim = await claimedObligation(store);
      const now = await commit(store, async (tx) => {
        await tx.move([moveOf(claim, { state: "settling", dueAt: tx.now })]);
        await tx.pauseDestination(lane.destination, "401");
        return tx.now;
      });
      expect((await store.reader.counts()).due).toEqual([{ effect: lane.effect, at: now }]);
    });

    test("needs an operator after an hour, unless a worker of that hour takes it", async () => {
      const { store, clock } = bundle();
      await owedId(store);
      const untaken = async () => (await store.reader.attention({ limit: 9 })).filter(({ kind }) => kind === "effect");
      const see = (effects: readonly string[]) =>
        commit(store, (tx) => tx.seeWorker({ name: "a", effects, forgetMs: day }));
      clock.advance(hour - 1_000);
      await see(["other/v1"]);
      expect(await untaken()).toEqual([]);
      clock.advance(1_000);
      expect(await untaken()).toMatchObject([{ effect: lane.effect }]);
      const [item] = await untaken();
      expect(await store.reader.attention({ limit: 9, after: item?.cursor })).toEqual([]);
      await see([lane.effect]);
      expect(await untaken()).toEqual([]);
    });
  });

  describe("a due time beyond its bound", () => {
    const bundle = eachBundle(make);

    test("is brought back to it, once; one within it stays", async () => {
      const { store } = bundle();
      const now = await commit(store, async (tx) => tx.now);
      const ids: number[] = [];
      const placed = [
        { outcome: "held", dueAt: now + year },
        { outcome: "parked", dueAt: now + hour, deadlineAt: now + year },
        { outcome: "parked", dueAt: now + 1, deadlineAt: now + day },
      ] as const;
      for (const [index, decision] of placed.entries()) {
        const id = await claimedId(store, { eventId: `evt_${index}` });
        await commit(store, (tx) => tx.settleReceipts([settledReceipt({ id, ...decision })]));
        ids.push(id);
      }
      expect(await commit(store, (tx) => tx.clampDue(bounds))).toBe(2);
      expect(await commit(store, (tx) => tx.clampDue(bounds))).toBe(0);
      const times = async (id: number) => {
        const { dueAt, deadlineAt } = (await store.reader.receipt(id))!.receipt;
        return [dueAt, deadlineAt];
      };
      expect(await Promise.all(ids.map(times))).toEqual([
        [now + hour, null],
        [now + hour, now + day],
        [now + 1, now + day],
      ]);
    });

    test("of an obligation as well, in every lane of the effects that are named", async () => {
      const { store } = bundle();
      const now = await commit(store, async (tx) => tx.now);
      const far = { dueAt: now + year };
      const rows = [
        { operationKey: "call", destination: "https://a.example", to: { state: "owed", ...far } },
        { operationKey: "lookup", destination: "https://b.example", to: { state: "uncertain", ...far } },
        { operationKey: "hook", destination: "https://b.example", to: { state: "settling", ...far } },
        { operationKey: "near", destination: "https://b.example", to: { state: "owed", dueAt: now + 6 * hour } },
        { operationKey: "other", effect: "other/v1", to: { state: "owed", ...far } },
      ] as const;
      for (const { to, ...draft } of rows) {
        const { effect, destination } = obligationDraft(draft);
        await owedId(store, draft);
        const lanes = [{ effect, destination, calls: true, limit: 1 }];
        const [claim] = await commit(store, (tx) => tx.claim({ lanes, worker: "w", leaseMs: 60_000 }));
        await commit(store, (tx) => tx.move([moveOf(claim!, to)]));
      }
      expect(await commit(store, (tx) => tx.clampDue(bounds))).toBe(3);
      expect(await commit(store, (tx) => tx.clampDue(bounds))).toBe(0);
      const dueOf = async ({ operationKey }: (typeof rows)[number]) =>
        (await store.reader.obligation("acme", operationKey))?.obligation.dueAt;
      expect(await Promise.all(rows.map(dueOf))).toEqual([...Array(4).fill(now + 6 * hour), now + year]);
    });

    test("of a refresh as well, of whatever kind, also where it is the end of a lease", async () => {
      const { store } = bundle();
      const now = await commit(store, async (tx) => tx.now);
      const key = { connection: "shop", account: "" };
      const rows = [
        { kind: "customer", id: "far", dueAt: now + year },
        { kind: "customer", id: "near", dueAt: now + 5 * hour },
        { kind: "invoice", id: "far", dueAt: now + year },
      ];
      for (const { kind, id, dueAt } of rows) {
        await commit(store, (tx) => tx.wantRefreshes([{ ...key, tenant: "acme", kind, id }]));
        const [claim] = await commit(store, (tx) => tx.claimRefreshes({ kind, limit: 1, leaseMs: 60_000 }));
        await commit(store, (tx) => tx.endRefresh({ ...claim!, tries: 1, dueAt, reason: "status 503" }));
      }
      const lost = { ...key, tenant: "acme", kind: "ledger", id: "leased" };
      await commit(store, (tx) => tx.wantRefreshes([lost]));
      await commit(store, (tx) => tx.claimRefreshes({ kind: "ledger", limit: 1, leaseMs: year }));
      expect(await commit(store, (tx) => tx.clampDue(bounds))).toBe(3);
      expect(await commit(store, (tx) => tx.clampDue(bounds))).toBe(0);
      const dueOf = async ({ kind, id }: { readonly kind: string; readonly id: string }) =>
        (await store.reader.refresh({ ...key, kind, id }))?.dueAt;
      expect(await Promise.all([...rows, lost].map(dueOf))).toEqual([
        now + 6 * hour,
        now + 5 * hour,
        now + 6 * hour,
        now + 6 * hour,
      ]);
    });

    test("is nobody's who holds a lease: a claim has none, and its fence stays", async () => {
      const { store, clock } = bundle();
      const claim = await claimedObligation(store);
      await commit(store, (tx) => tx.clampDue(bounds));
      expect(await commit(store, (tx) => tx.move([moveOf(claim, { state: "owed", dueAt: tx.now })]))).toEqual([true]);
      clock.advance(1);
      expect(await claimDue(store)).toHaveLength(1);
    });
  });
}
