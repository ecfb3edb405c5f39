import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SnapshotDraft, unknownRevision } from "../store.ts";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";
import { snapshotDraft } from "./drafts.conformance.ts";

/** Snapshots: the newest wins, ties are flagged, whatever the order of arrival. */
export function exerciseSnapshots(make: MakeBundle): void {
  describe("snapshots", () => {
    const bundle = eachBundle(make);
    const write = (overrides: Partial<SnapshotDraft>) =>
      commit(bundle().store, (tx) => tx.snapshot(snapshotDraft(overrides)));
    const read = (overrides: Partial<SnapshotDraft> = {}) => bundle().other.reader.snapshot(snapshotDraft(overrides));

    test("only a newer revision replaces what is kept", async () => {
      expect(await read()).toBeUndefined();
      expect(await write({ revision: "5", digest: "five", state: "5" })).toBe("applied");
      expect(await write({ revision: "4", digest: "four", state: "4" })).toBe("stale");
      expect(await write({ revision: "5", digest: "five", state: "5" })).toBe("same");
      expect(await write({ revision: "5", digest: "other", state: "6" })).toBe("conflict");
      expect(await read()).toEqual({ revision: "5", digest: "five", state: "5" });
      expect(await write({ revision: "6", digest: "six", state: "6" })).toBe("applied");
      expect(await read()).toEqual({ revision: "6", digest: "six", state: "6" });
    });

    test("revisions are integers of any size, negative ones too", async () => {
      const ascending = [
        "-100000000000000000000000000000",
        "-10",
        "-9",
        "-1",
        "0",
        "2",
        "10",
        "9007199254740993",
        "9007199254740994",
        "18446744073709551616",
        "100000000000000000000000000000",
      ];
      for (const revision of ascending) {
        expect(await write({ revision, digest: revision })).toBe("applied");
        expect((await read())?.revision).toBe(revision);
      }
      for (const revision of ascending.slice(0, -1)) expect(await write({ revision, digest: revision })).toBe("stale");
    });

    test("a deletion leaves a tombstone that older states do not wake", async () => {
      await write({ revision: "1" });
      expect(await write({ revision: "3", digest: "deleted", state: null })).toBe("applied");
      expect(await write({ revision: "2", digest: "two" })).toBe("stale");
      expect(await read()).toEqual({ revision: "3", digest: "deleted", state: null });
      expect(await write({ revision: "4", digest: "four", state: "4" })).toBe("applied");
    });

    test("an operator may choose the other content of a tie, and nothing older", async () => {
      await write({ revision: "2", digest: "one" });
      expect(await write({ revision: "2", digest: "two", state: "2", force: true })).toBe("applied");
      expect(await write({ revision: "2", digest: "two", force: true })).toBe("same");
      expect(await write({ revision: "1", digest: "three", force: true })).toBe("stale");
      expect(await read()).toMatchObject({ revision: "2", digest: "two", state: "2" });
    });

    test("a row that came without a revision gives way to every other, and never replaces one", async () => {
      expect(await write({ revision: unknownRevision, digest: "imported" })).toBe("applied");
      expect(await read()).toMatchObject({ revision: "unknown", digest: "imported" });
      expect(await write({ revision: unknownRevision, digest: "imported anew" })).toBe("applied");
      expect(await write({ revision: unknownRevision, digest: "imported anew" })).toBe("same");
      expect(await write({ revision: "-1000", digest: "event" })).toBe("applied");
      expect(await write({ revision: unknownRevision, digest: "imported late" })).toBe("stale");
      expect(await read()).toMatchObject({ revision: "-1000", digest: "event" });
    });

    test("by somebody's word an unknown revision is the one that is kept", async () => {
      await write({ revision: "7", digest: "seven" });
      expect(await write({ revision: unknownRevision, digest: "deleted", state: null, force: true })).toBe("applied");
      expect(await read()).toEqual({ revision: "7", digest: "deleted", state: null });
      expect(await write({ revision: "6", digest: "six" })).toBe("stale");
      expect(await write({ revision: "8", digest: "eight" })).toBe("applied");
    });

    test("connection, account, kind and id each set resources apart", async () => {
      await write({});
      for (const key of [{ connection: "c2" }, { account: "a2" }, { kind: "k2" }, { id: "i2" }, { id: "P-1" }]) {
        expect(await write({ ...key, revision: "0" })).toBe("applied");
      }
      expect((await read())?.revision).toBe("1");
    });

    test("what is kept in the end does not depend on the order of arrival", async () => {
      const revision = fc.bigInt({ min: -50n, max: 10n ** 20n });
      // Every revision twice, in any order.
      const arrivals = fc.uniqueArray(revision, { minLength: 2, maxLength: 6 }).chain((distinct) => {
        const twice = [...distinct, ...distinct];
        return fc.shuffledSubarray(twice, { minLength: twice.length });
      });
      let round = 0;
      await fc.assert(
        fc.asyncProperty(arrivals, async (order) => {
          round += 1;
          const id = `p-${round}`;
          await commit(bundle().store, async (tx) => {
            for (const arrived of order) {
              const draft = snapshotDraft({ id, revision: String(arrived), digest: `d${arrived}` });
              expect(await tx.snapshot(draft)).not.toBe("conflict");
            }
          });
          const newest = order.reduce((left, right) => (left > right ? left : right));
          expect(await read({ id })).toMatchObject({ revision: String(newest), digest: `d${newest}` });
        }),
        { numRuns: 60 },
      );
    });
  });
}
