import { describe, expect, test } from "vitest";
import { closedStates, obligationStates } from "../../domain/obligation.ts";
import { type PrunableKind, prunableKinds, type PruneBatch, type Store } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import {
  attemptEnd,
  claimedId,
  claimedObligation,
  moveOf,
  obligationDraft,
  owedId,
  settledReceipt,
} from "./drafts.conformance.ts";

const day = 86_400_000;

/** Prunes to the end in batches; gives the sum, and how many batches it took. */
async function pruneAll(
  store: Store,
  kind: PrunableKind,
  options: Partial<PruneBatch> = {},
): Promise<readonly [number, number]> {
  let sum = 0;
  let batches = 0;
  let after: number | null = 0;
  while (after !== null) {
    const batch: PruneBatch = { kind, olderThanMs: 30 * day, after, limit: 100, dryRun: false, ...options };
    const { count, next } = await commit(store, (tx) => tx.prune(batch));
    sum += count;
    batches += 1;
    after = next;
  }
  return [sum, batches];
}

/** Owes, claims and answers an obligation, and leaves it in a state. */
async function ended(store: Store, operationKey: string, state: (typeof obligationStates)[number]): Promise<void> {
  const claim = await claimedObligation(store, { operationKey });
  const dueAt = state === "owed" ? 8e15 : null;
  await commit(store, (tx) => tx.move([moveOf(claim, { state, dueAt }, { attempt: attemptEnd() })]));
}

/** Retention: what goes, and what stays for good. */
export function exercisePruning(make: MakeBundle): void {
  describe("pruning", () => {
    const bundle = eachBundle(make);
    const owned = ["requests", "answers", "attempts"] as const;

    test("an empty store has nothing that is old", async () => {
      const { store } = bundle();
      for (const kind of prunableKinds) expect(await pruneAll(store, kind)).toEqual([0, 1]);
    });

    test("takes from what is finished and old, and from nothing that is open or young", async () => {
      const { store, clock } = bundle();
      for (const state of obligationStates) await ended(store, state, state);
      clock.advance(31 * day);
      await ended(store, "young", "done");
      for (const kind of owned) {
        expect(await pruneAll(store, kind, { dryRun: true })).toEqual([closedStates.length, 1]);
        expect(await pruneAll(store, kind)).toEqual([closedStates.length, 1]);
        expect(await pruneAll(store, kind)).toEqual([0, 1]);
      }
      const draft = obligationDraft();
      for (const key of [...obligationStates, "young"]) {
        const detail = await store.reader.obligation("acme", key);
        const stays = !(closedStates as readonly string[]).includes(key);
        expect(detail?.obligation).toMatchObject({ fence: 1, state: key === "young" ? "done" : key });
        expect(detail?.attempts).toHaveLength(stays ? 1 : 0);
        expect(detail?.answer?.status).toBe(stays ? 201 : undefined);
        const { input, request, requestDigest } = stays ? draft : { input: null, request: null, requestDigest: null };
        expect(detail).toMatchObject({ input, request, requestDigest });
      }
    });

    test("leaves the key: what is owed again is the same, or a conflict", async () => {
      const { store, clock } = bundle();
      await ended(store, "k", "done");
      clock.advance(31 * day);
      for (const kind of owned) await pruneAll(store, kind);
      const draft = obligationDraft({ operationKey: "k" });
      const kinds = await commit(store, (tx) => tx.owe([draft, { ...draft, inputDigest: "other" }]));
      expect(kinds.map(({ kind }) => kind)).toEqual(["same", "conflict"]);
    });

    test("goes on batch by batch, past what is open, and counts the same beforehand", async () => {
      const { store, clock } = bundle();
      for (let index = 0; index < 7; index += 1) await ended(store, `old-${index}`, index % 3 === 0 ? "stuck" : "done");
      clock.advance(31 * day);
      for (let index = 0; index < 5; index += 1) await owedId(store, { operationKey: `young-${index}` });
      for (const kind of owned) {
        const [counted] = await pruneAll(store, kind, { limit: 2, dryRun: true });
        const [removed, batches] = await pruneAll(store, kind, { limit: 2 });
        expect([counted, removed]).toEqual([4, 4]);
        // Seven old ones by twos, and none of the batches behind the first that is young.
        expect(batches).toBeLessThanOrEqual(5);
      }
    });

    test("takes bytes whose own time has come, and refusals by their age", async () => {
      const { store, clock } = bundle();
      const ids = [
        await claimedId(store, { eventId: "1", bytesKeptMs: day }),
        await claimedId(store, { eventId: "2" }),
      ];
      await commit(store, (tx) =>
        tx.settleReceipts([settledReceipt({ id: ids[1] ?? 0, outcome: "held", bytesExpireAt: null })]),
      );
      const at = await commit(store, async (tx) => tx.now);
      const refusal = { connection: "stripe", cause: "x", facts: "{}" };
      await commit(store, (tx) => tx.recordRefusals([1, 2, 3].map(() => ({ ...refusal, at }))));
      clock.advance(31 * day);
      await commit(store, (tx) => tx.recordRefusals([{ ...refusal, at: at + 31 * day }]));
      expect(await pruneAll(store, "payloads", { dryRun: true })).toEqual([1, 1]);
      expect((await pruneAll(store, "payloads", { limit: 1 }))[0]).toBe(1);
      expect([
        await store.reader.payload(ids[0] ?? 0),
        (await store.reader.payload(ids[1] ?? 0)) !== undefined,
      ]).toEqual([undefined, true]);
      expect((await pruneAll(store, "refusals", { limit: 2, dryRun: true }))[0]).toBe(3);
      expect((await pruneAll(store, "refusals", { limit: 2 }))[0]).toBe(3);
      expect(await store.reader.refusals({ limit: 9 })).toEqual([{ ...refusal, at: at + 31 * day }]);
    });
  });
}
