import { expect, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { GroupCommit, type GroupCommitOptions } from "./group-commit.ts";

function groups(options: Partial<GroupCommitOptions<string, string>> = {}) {
  const committed: string[][] = [];
  const group = new GroupCommit<string, string>({
    commit: async (members) => {
      committed.push([...members]);
      return members.map((member) => ({ kind: "answered", answer: member }));
    },
    keyOf: (member) => member.slice(0, 1),
    membersMax: 3,
    waitingMax: 8,
    groupsMax: 1,
    aloneMax: 1,
    queueMs: 1_000,
    now: () => 0,
    timer: () => undefined,
    ...options,
  });
  return { group, committed };
}

test("members of one turn share a commit, up to its size, in their order", async () => {
  const { group, committed } = groups();
  expect(await Promise.all(["a", "b", "c", "d"].map((member) => group.submit(member)))).toEqual(["a", "b", "c", "d"]);
  expect(committed).toEqual([["a", "b", "c"], ["d"]]);
});

test("members with one key share a commit or come after it, in their order, and none runs beside one", async () => {
  const begun: string[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const { group } = groups({
    groupsMax: 2,
    commit: async (members) => {
      begun.push(members.join(" "));
      if (begun.length === 1) await ended;
      return members.map((member) => ({ kind: "answered", answer: member }));
    },
  });
  const [a1, , , a3, ...others] = ["a1", "a2", "b", "a3", "c", "d"].map((member) => group.submit(member));
  await Promise.all(others);
  expect(begun).toEqual(["a1 a2 b", "c d"]);
  end();
  expect(await Promise.all([a1, a3])).toEqual(["a1", "a3"]);
  expect(begun.slice(2)).toEqual(["a3"]);
});

test("a member that is put off runs by itself, beside the groups, and those with its key wait for it", async () => {
  const committed: string[] = [];
  const { promise: lock, resolve: release } = Promise.withResolvers<void>();
  const { group } = groups({
    commit: async (members, { alone }) => {
      committed.push(`${alone ? "alone " : ""}${members.join(" ")}`);
      if (alone) await lock;
      return members.map((member) =>
        member.startsWith("x") && !alone ? { kind: "alone" } : { kind: "answered", answer: member },
      );
    },
  });
  const [locked, copy] = [group.submit("x1"), group.submit("x2")];
  expect(await group.submit("a")).toBe("a");
  expect(await Promise.all([group.submit("b"), group.submit("c")])).toEqual(["b", "c"]);
  expect(committed).toEqual(["x1 x2 a", "b c", "alone x1"]);
  release();
  expect(await Promise.all([locked, copy])).toEqual(["x1", "x2"]);
  expect(committed.slice(3)).toEqual(["alone x2"]);
});

test("who is put off after the longest wait is refused instead", async () => {
  let nowMs = 0;
  const { group } = groups({
    now: () => nowMs,
    commit: async (members) => {
      nowMs += 1_001;
      return members.map(() => ({ kind: "alone" }));
    },
  });
  await expect(group.submit("a")).rejects.toMatchObject({ code: "OVERLOADED" });
});

test("one too many is refused at once, and room comes back", async () => {
  const { group } = groups({ waitingMax: 2 });
  const first = [group.submit("a"), group.submit("b")];
  await expect(group.submit("c")).rejects.toMatchObject({ code: "OVERLOADED" });
  await Promise.all(first);
  expect(await group.submit("c")).toBe("c");
});

test("a failed commit fails each of its members and nobody else", async () => {
  let run = 0;
  const { group } = groups({
    membersMax: 1,
    commit: async ([member]) => {
      run += 1;
      if (run === 1) throw new Error("the first");
      return [{ kind: "answered", answer: String(member) }];
    },
  });
  const [first, second] = await Promise.allSettled([group.submit("a"), group.submit("b")]);
  expect([first?.status, second?.status]).toEqual(["rejected", "fulfilled"]);
});

test("a deferred member heads the next group", async () => {
  const committed: string[][] = [];
  const { group } = groups({
    commit: async (members) => {
      committed.push([...members]);
      return members.map((member, index) =>
        index === 0 ? { kind: "answered", answer: member } : { kind: "deferred" },
      );
    },
  });
  await Promise.all(["a", "b", "c"].map((member) => group.submit(member)));
  expect(committed).toEqual([["a", "b", "c"], ["b", "c"], ["c"]]);
});

test("who waited too long is refused before the next group begins", async () => {
  let nowMs = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const { group, committed } = groups({
    membersMax: 1,
    now: () => nowMs,
    commit: async (members) => {
      committed.push([...members]);
      await promise;
      return members.map((member) => ({ kind: "answered", answer: member }));
    },
  });
  const first = group.submit("a");
  const second = group.submit("b");
  await new Promise((turn) => void setImmediate(turn));
  nowMs = 1_001;
  const third = group.submit("c");
  resolve();
  await expect(second).rejects.toMatchObject({ code: "OVERLOADED" });
  expect(await Promise.all([first, third])).toEqual(["a", "c"]);
  expect(committed).toEqual([["a"], ["c"]]);
  await group.idle();
});

test("who waits too long behind groups that do not end is refused all the same", async () => {
  const clock = new VirtualClock();
  const { promise, resolve } = Promise.withResolvers<void>();
  const { group } = groups({
    membersMax: 1,
    now: () => clock.monotonicMs(),
    timer: (delayMs, fire) => clock.timer(delayMs, fire),
    commit: async (members) => {
      await promise;
      return members.map((member) => ({ kind: "answered", answer: member }));
    },
  });
  const first = group.submit("a");
  await new Promise((turn) => void setImmediate(turn));
  const second = group.submit("b");
  clock.advance(600);
  const third = group.submit("c");
  clock.advance(401);
  await expect(second).rejects.toMatchObject({ code: "OVERLOADED" });
  expect(group.waiting).toBe(2);
  clock.advance(600);
  await expect(third).rejects.toMatchObject({ code: "OVERLOADED" });
  resolve();
  expect(await first).toBe("a");
});
