import { describe, expect, test } from "vitest";
import { commit, eachBundle, type MakeBundle, rollBack } from "./bundle.conformance.ts";
import { bytesOf, claimDue, claimedId, obligationDraft, owedId } from "./drafts.conformance.ts";

/** Owing: one obligation for each operation key. */
export function exerciseObligations(make: MakeBundle): void {
  describe("obligations", () => {
    const bundle = eachBundle(make);

    test("an owed obligation is kept with its frozen request and input", async () => {
      const { store, other } = bundle();
      const receiptId = await claimedId(store);
      const draft = obligationDraft({ receiptId, account: "acct_1" });
      const { owed, now } = await commit(store, async (tx) => ({ owed: await tx.owe([draft]), now: tx.now }));
      expect(owed).toMatchObject([{ kind: "created" }]);
      const detail = await other.reader.obligation(draft.tenant, draft.operationKey);
      expect(detail).toMatchObject({ input: draft.input, request: draft.request, requestDigest: draft.requestDigest });
      expect(detail?.obligation).toEqual({
        id: owed[0]?.id,
        tenant: "acme",
        operationKey: draft.operationKey,
        effect: "ship/v1",
        destination: "https://carrier.example",
        connection: "stripe",
        account: "acct_1",
        receiptId,
        orderKey: null,
        notBefore: null,
        cancelRequested: false,
        state: "owed",
        reached: "no",
        fence: 0,
        generation: 1,
        keySince: null,
        tries: 0,
        lookups: 0,
        crashes: 0,
        lastCallEndedAt: null,
        dueAt: now,
        reason: null,
        createdAt: now,
        updatedAt: now,
      });
      expect((await other.reader.receipt(receiptId))?.obligations).toEqual([detail?.obligation]);
    });

    test("a request may be without a body, and its bytes are kept as they are", async () => {
      const { store } = bundle();
      const bare = { method: "DELETE", url: "https://carrier.example/1", contentType: null, body: null };
      await owedId(store, { operationKey: "bare", request: bare });
      const every = { ...obligationDraft().request, body: Uint8Array.from({ length: 256 }, (_, value) => value) };
      await owedId(store, { operationKey: "every", request: every });
      expect((await store.reader.obligation("acme", "bare"))?.request).toEqual(bare);
      expect((await store.reader.obligation("acme", "every"))?.request).toEqual(every);
    });

    test("a request is replaced as a whole, and its input stays", async () => {
      const { store, other } = bundle();
      const id = await owedId(store);
      const request = { method: "PUT", url: "https://carrier.example/2", contentType: null, body: bytesOf("\0new") };
      await commit(store, (tx) => tx.amend(id, request, "request-2"));
      const detail = await other.reader.obligation("acme", obligationDraft().operationKey);
      expect(detail).toMatchObject({ request, requestDigest: "request-2", input: obligationDraft().input });
    });

    test("the same key with the same input is owed once, and the first request stays", async () => {
      const { store, other } = bundle();
      const id = await owedId(store);
      const again = obligationDraft({ request: { ...obligationDraft().request, body: bytesOf("other") } });
      expect(await commit(other, (tx) => tx.owe([again]))).toEqual([{ kind: "same", id }]);
      expect((await store.reader.obligation("acme", again.operationKey))?.request).toEqual(obligationDraft().request);
    });

    test("the same key with other input, or of another effect, is a conflict that changes nothing", async () => {
      const { store } = bundle();
      const id = await owedId(store);
      const before = await store.reader.obligation("acme", obligationDraft().operationKey);
      const owed = await commit(store, (tx) =>
        tx.owe([obligationDraft({ inputDigest: "input-2" }), obligationDraft({ effect: "ship/v2" })]),
      );
      expect(owed).toEqual([
        { kind: "conflict", id },
        { kind: "conflict", id },
      ]);
      expect(await store.reader.obligation("acme", obligationDraft().operationKey)).toEqual(before);
    });

    test("tenants have keys of their own", async () => {
      const { store } = bundle();
      const owed = await commit(store, (tx) => tx.owe([obligationDraft(), obligationDraft({ tenant: "globex" })]));
      expect(owed.map(({ kind }) => kind)).toEqual(["created", "created"]);
      expect(await store.reader.obligation("initech", obligationDraft().operationKey)).toBeUndefined();
    });

    test("keys of one call may repeat, and answers come in its order", async () => {
      const { store } = bundle();
      await owedId(store, { operationKey: "k2" });
      const drafts = ["k3", "k2", "k1", "k3"].map((operationKey) => obligationDraft({ operationKey }));
      const owed = await commit(store, (tx) =>
        tx.owe([...drafts, obligationDraft({ operationKey: "k1", inputDigest: "other" })]),
      );
      expect(owed.map(({ kind }) => kind)).toEqual(["created", "same", "created", "same", "conflict"]);
      expect(owed[3]?.id).toBe(owed[0]?.id);
      expect(owed[4]?.id).toBe(owed[2]?.id);
    });

    test("of many that owe one key at once, from both handles, one creates it", async () => {
      const { store, other } = bundle();
      const owing = Array.from({ length: 20 }, (_, index) =>
        commit(index % 2 ? store : other, (tx) => tx.owe([obligationDraft()])),
      );
      const kinds = (await Promise.all(owing)).map(([owed]) => owed?.kind);
      expect(kinds.filter((kind) => kind === "created")).toHaveLength(1);
      expect(kinds.filter((kind) => kind === "same")).toHaveLength(19);
    });

    test("what is rolled back is not owed", async () => {
      const { store } = bundle();
      await rollBack(store, (tx) => tx.owe([obligationDraft()]));
      expect(await claimDue(store)).toEqual([]);
      expect(await owedId(store)).toBeGreaterThan(0);
    });

    test("an obligation is found by its operation key, without its request", async () => {
      const { store } = bundle();
      const id = await owedId(store);
      const { operationKey } = obligationDraft();
      const detail = await store.reader.obligation("acme", operationKey);
      expect(await commit(store, (tx) => tx.lockObligation("acme", operationKey))).toEqual(detail?.obligation);
      expect(detail?.obligation.id).toBe(id);
      expect(await commit(store, (tx) => tx.lockObligation("globex", operationKey))).toBeUndefined();
    });
  });
}
