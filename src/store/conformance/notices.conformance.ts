import { describe, expect, test } from "vitest";
import { commit, eachBundle, type MakeBundle } from "./bundle.conformance.ts";

const leaseMs = 60_000;

/** Marks of what somebody was told of. */
export function exerciseNotices(make: MakeBundle): void {
  describe("what needs a person", () => {
    const bundle = eachBundle(make);
    const claim = (keys: readonly string[], by: "store" | "other" = "store") =>
      commit(bundle()[by], (tx) => tx.claimNotices({ keys, leaseMs }));
    const settle = (keys: readonly string[], isTold: boolean) =>
      commit(bundle().store, (tx) => tx.settleNotices(keys, isTold));

    test("is told by one process, once", async () => {
      expect(await claim(["b", "a"])).toEqual(["b", "a"]);
      expect(await claim(["a", "b", "c"], "other")).toEqual(["c"]);
      await settle(["a", "b"], true);
      bundle().clock.advance(leaseMs + 1);
      expect(await claim(["a", "b"], "other")).toEqual([]);
    });

    test("that could not be told, or whose teller died, is told by another", async () => {
      await claim(["failed", "died"]);
      await settle(["failed"], false);
      expect(await claim(["failed", "died"], "other")).toEqual(["failed"]);
      bundle().clock.advance(leaseMs);
      expect(await claim(["died"], "other")).toEqual(["died"]);
    });

    test("is news once more when it was off the list", async () => {
      await claim(["gone", "stays", "being told"]);
      await settle(["gone", "stays"], true);
      await commit(bundle().store, (tx) => tx.forgetNotices(["stays"], []));
      expect(await claim(["gone", "stays", "being told"], "other")).toEqual(["gone"]);
    });

    test("of a setting is forgotten only by a process that has the setting", async () => {
      const keys = ["watch/silence/stripe", "watch/silence/github"];
      await claim(keys);
      await settle(keys, true);
      await commit(bundle().other, (tx) => tx.forgetNotices([], ["watch/silence/github"]));
      expect(await claim(keys)).toEqual(["watch/silence/github"]);
    });

    test("is not kept from being told by a clock that was ahead for a while", async () => {
      const { clock } = bundle();
      if (clock.stepWall === undefined) return;
      clock.stepWall(365 * 86_400_000);
      await claim(["ahead"]);
      clock.stepWall(-365 * 86_400_000);
      expect(await claim(["ahead"], "other")).toEqual(["ahead"]);
    });
  });
}
