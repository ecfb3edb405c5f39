/** Answers that never came: the same key while it is good, a lookup where it is not, an operator where there is none. */
import { describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import type { FakeProvider } from "../../src/testing/fake-provider.ts";
import type { Fault } from "../../src/testing/provider-fault.ts";
import { machineClocks } from "../support/engine.ts";
import { type Desk, type Office, openOffice } from "./office.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const lost: readonly (readonly [string, Fault])[] = [
  ["the connection is reset", { when: "after", kind: "reset" }],
  ["the connection is closed", { when: "after", kind: "close" }],
  ["the connection is closed after the headers", { when: "after", kind: "half-close" }],
  ["a gateway answers 504", { when: "after", kind: "answer", status: 504 }],
  ["what comes back is not HTTP", { when: "after", kind: "raw", text: "SSH-2.0-OpenSSH_9.2\r\n" }],
];

/** Does what is due while the provider holds the request, until the call's deadline has passed. */
async function workPastDeadline({ clock, provider }: Office, desk: Desk): Promise<void> {
  const working = desk.work();
  await eventually(() => provider.held === 1);
  clock.advance(30_000);
  await working;
}

function effects(provider: FakeProvider): readonly [requests: number, effects: number] {
  const { requests, effects: done } = provider.counts();
  return [requests, done];
}

describe("a provider that keeps its contract", () => {
  test.each(lost)("performs one effect when %s", async (_, fault) => {
    await using office = await openOffice();
    const desk = await office.desk();
    office.provider.failNext(fault);
    await desk.owe("order-1");
    await desk.work();
    // Headers that arrived are an answer, whatever became of the body.
    const answered = fault.kind === "half-close";
    expect((await desk.see("order-1")).obligation).toMatchObject({
      state: answered ? "done" : "owed",
      reached: answered ? "yes" : "maybe",
    });
    office.clock.advance(2_000);
    await desk.work();
    expect(await desk.state("order-1")).toBe("done");
    expect(effects(office.provider)).toEqual(answered ? [1, 1] : [2, 1]);
    const [first, second = first] = office.provider.requests;
    expect(second).toMatchObject({ key: first?.key, body: first?.body, url: first?.url });
  });

  test("performs one effect when it never answers", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    office.provider.failNext({ when: "after", kind: "hold" });
    await desk.owe("order-1");
    await workPastDeadline(office, desk);
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "owed", reached: "maybe" });
    expect(attempts).toMatchObject([{ verdict: "unknown", cause: "deadline", phase: "headers" }]);
    office.clock.advance(5_000);
    await desk.work();
    expect(effects(office.provider)).toEqual([2, 1]);
  });
});

describe("a key at the end of its life", () => {
  async function ambiguous(office: Office): Promise<Desk> {
    const desk = await office.desk({ effects: [office.effect()] });
    office.provider.failNext({ when: "after", kind: "reset" });
    await desk.owe("order-1");
    await desk.work();
    return desk;
  }

  test("is used a minute before it", async () => {
    await using office = await openOffice();
    const desk = await ambiguous(office);
    office.clock.advance(day - minute);
    await desk.work();
    expect(await desk.state("order-1")).toBe("done");
    expect(effects(office.provider)).toEqual([2, 1]);
  });

  test.each([
    ["30 s before it", day - 30_000],
    ["a minute after it", day + minute],
    ["three days after it", 4 * day],
  ])("is not used %s: the obligation waits for an operator", async (_, ms) => {
    await using office = await openOffice();
    const desk = await ambiguous(office);
    office.clock.advance(ms);
    await desk.work();
    office.clock.advance(30 * day);
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "uncertain", dueAt: null, generation: 1 });
    expect(effects(office.provider)).toEqual([1, 1]);
    expect(desk.kinds()).toContain("key.expired");
  });

  test("is known to be dead also when the wall clock was set back", async () => {
    await using office = await openOffice();
    const desk = await ambiguous(office);
    office.clock.advance(day);
    office.clock.stepWall(-day + hour);
    await desk.work();
    expect(await desk.state("order-1")).toBe("uncertain");
    expect(effects(office.provider)).toEqual([1, 1]);
  });

  test("is looked at once more right before the first byte", async () => {
    await using office = await openOffice();
    await ambiguous(office);
    office.clock.advance(2_000);
    let asleepMs = 2 * day;
    const sleepy = await office.desk({
      call: async (_, { mayStart }) => {
        // The machine sleeps between the claim and the connection, once.
        office.clock.stepWall(asleepMs);
        asleepMs = 0;
        const cause = mayStart() ? "refused" : "withdrawn";
        return { kind: "not_sent", reached: "no", phase: "connect", cause, detail: "" };
      },
    });
    await sleepy.work();
    const { obligation, attempts } = await sleepy.see("order-1");
    // Where a server has the clock, the next claim finds that the key is still good.
    const end = machineClocks ? "released" : "not_sent";
    expect(attempts.map(({ verdict }) => verdict)).toEqual(["unknown", "released", end]);
    expect(obligation.state).toBe(machineClocks ? "uncertain" : "owed");
  });

  test("is renewed where nothing can have taken effect, and the new generation is noted", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    office.provider.failNext({ when: "before", kind: "answer", status: 429 });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(2 * day);
    await desk.work();
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "done", generation: 2 });
    expect(attempts.map(({ generation, verdict }) => [generation, verdict])).toEqual([
      [1, "again"],
      [1, "released"],
      [2, "done"],
    ]);
    const [first, second] = office.provider.requests;
    expect(second?.key).not.toBe(first?.key);
    expect(second?.body).toBe(first?.body);
  });
});

describe("a provider without a contract", () => {
  const careless = { provider: { contract: "ignores" } } as const;

  test.each(lost.filter(([, { kind }]) => kind !== "half-close"))(
    "is asked, and not sent to again, when %s",
    async (_, fault) => {
      await using office = await openOffice(careless);
      const desk = await office.desk({ effects: [office.effect({ idempotency: "none", lookup: office.lookup })] });
      office.provider.failNext(fault);
      await desk.owe("order-1");
      await desk.work();
      expect((await desk.see("order-1")).obligation).toMatchObject({ state: "uncertain", reached: "maybe" });
      office.clock.advance(10_000);
      await desk.work();
      const { obligation, attempts, answer } = await desk.see("order-1");
      expect(obligation).toMatchObject({ state: "done", reached: "yes", lookups: 1 });
      expect(attempts.map(({ kind, verdict }) => [kind, verdict])).toEqual([
        ["send", fault.kind === "answer" ? "again" : "unknown"],
        ["lookup", "found"],
      ]);
      expect(new TextDecoder().decode(answer?.body)).toContain(office.provider.effects[0]?.id);
      expect(effects(office.provider)).toEqual([1, 1]);
    },
  );

  test("is sent to again once it says absent after the settle delay", async () => {
    await using office = await openOffice(careless);
    const desk = await office.desk({ effects: [office.effect({ idempotency: "none", lookup: office.lookup })] });
    office.provider.failNext({ when: "before", kind: "reset" });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(9_999);
    await desk.work();
    expect(office.provider.counts().lookups).toBe(0);
    office.clock.advance(1);
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "done", generation: 2, tries: 1 });
    expect(effects(office.provider)).toEqual([2, 1]);
  });

  test("is not believed when it says absent too soon, also where the wall clock jumped ahead", async () => {
    await using office = await openOffice(careless);
    const desk = await office.desk({ effects: [office.effect({ idempotency: "none", lookup: office.lookup })] });
    office.provider.failNext({ when: "before", kind: "hold" });
    await desk.owe("order-1");
    await workPastDeadline(office, desk);
    office.clock.stepWall(hour);
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({
      state: "uncertain",
      lookups: machineClocks ? 1 : 0,
    });
    office.provider.release();
    await eventually(() => office.provider.counts().effects === 1);
    office.clock.advance(30_000);
    await desk.work();
    expect(await desk.state("order-1")).toBe("done");
    expect(effects(office.provider)).toEqual([1, 1]);
  });

  test("and without a lookup waits for an operator", async () => {
    await using office = await openOffice(careless);
    const desk = await office.desk({ effects: [office.effect({ idempotency: "none" })] });
    office.provider.failNext({ when: "after", kind: "reset" });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(30 * day);
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "uncertain", dueAt: null });
    expect(effects(office.provider)).toEqual([1, 1]);
  });

  test("is given a fresh connection for every call", async () => {
    await using office = await openOffice(careless);
    const reuse: (boolean | undefined)[] = [];
    const desk = await office.desk({
      effects: [office.effect({ idempotency: "none" })],
      call: async (_, options) => {
        reuse.push(options.reuse);
        return {
          kind: "answered",
          reached: "yes",
          phase: "complete",
          status: 204,
          headers: {},
          body: new Uint8Array(),
          truncated: false,
        };
      },
    });
    await desk.owe("order-1");
    await desk.work();
    expect(reuse).toEqual([false]);
  });
});

describe("a lookup", () => {
  const found = { when: "after", kind: "answer", status: 200 } as const;

  test("that fails for an hour neither escalates nor spends the sends' budget", async () => {
    await using office = await openOffice();
    const desk = await office.desk({ effects: [office.effect({ idempotency: "none", lookup: office.lookup })] });
    office.provider.failNext({ when: "after", kind: "reset" });
    office.provider.failWhen(({ method }) => (method === "GET" ? { ...found, status: 503 } : undefined));
    await desk.owe("order-1");
    await desk.work();
    for (let minutes = 0; minutes < 60; minutes += 6) {
      office.clock.advance(6 * minute);
      await desk.work();
    }
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "uncertain", tries: 1, lookups: 10 });
    office.provider.failWhen(() => undefined);
    office.clock.advance(6 * minute);
    await desk.work();
    expect(await desk.state("order-1")).toBe("done");
    expect(effects(office.provider)).toEqual([1, 1]);
  });

  interface Silence {
    readonly why: string;
    readonly fault?: Fault;
    readonly lookup?: Partial<Office["lookup"]>;
    readonly reason: string;
  }

  const broken = (): never => {
    throw new Error("s3cret");
  };

  test.each<Silence>([
    { why: "a broken body", fault: { ...found, body: "<html>" }, reason: "the lookup's answer is not JSON" },
    { why: "a cut answer", fault: { when: "after", kind: "half-close" }, reason: "the lookup's answer was cut" },
    { why: "an undeclared 404", fault: { ...found, status: 404 }, reason: "status 404" },
    { why: "a reset", fault: { when: "after", kind: "reset" }, reason: "reset at headers: ECONNRESET" },
    { why: "a found that throws", lookup: { found: broken }, reason: "found failed with Error" },
    { why: "a found that gives null", lookup: { found: () => null as never }, reason: "found gave null or a promise" },
    { why: "a get that throws", lookup: { get: broken }, reason: "the lookup failed with Error" },
  ])("that ends in $why tells nothing", async ({ fault, lookup, reason }) => {
    await using office = await openOffice();
    const ship = office.effect({ idempotency: "none", lookup: { ...office.lookup, ...lookup } });
    const desk = await office.desk({ effects: [ship] });
    office.provider.failNext({ when: "before", kind: "reset" });
    if (fault) office.provider.failNextLookup(fault);
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(10_000);
    await desk.work();
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "uncertain", lookups: 1, reached: "maybe" });
    expect(obligation.reason).toContain(reason);
    expect(obligation.reason).not.toContain("s3cret");
    expect(attempts.at(-1)).toMatchObject({ kind: "lookup", verdict: "unknown" });
    expect(effects(office.provider)).toEqual([1, 0]);
  });

  test("whose effect declares 404 as absent sends again", async () => {
    await using office = await openOffice();
    const desk = await office.desk({
      effects: [office.effect({ idempotency: "none", lookup: { ...office.lookup, absentOn: [404] } })],
    });
    office.provider.failNext({ when: "before", kind: "reset" });
    office.provider.failNextLookup({ ...found, status: 404 });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(10_000);
    await desk.work();
    expect(await desk.state("order-1")).toBe("done");
    expect(effects(office.provider)).toEqual([2, 1]);
  });

  test("that never tells anything is the operator's in the end", async () => {
    await using office = await openOffice({ limits: { lookupsMax: 3 } });
    const desk = await office.desk({ effects: [office.effect({ idempotency: "none", lookup: office.lookup })] });
    office.provider.failNext({ when: "after", kind: "reset" });
    office.provider.failWhen(() => ({ ...found, status: 500 }));
    await desk.owe("order-1");
    for (let n = 0; n < 6; n += 1) {
      await desk.work();
      office.clock.advance(hour);
    }
    expect((await desk.see("order-1")).obligation).toMatchObject({
      state: "stuck",
      reached: "maybe",
      reason: "3 lookups told nothing, the last: status 500",
    });
    expect(office.provider.counts()).toMatchObject({ requests: 1, lookups: 3 });
  });
});

test("a budget of tries ends at the operator", async () => {
  await using office = await openOffice();
  const desk = await office.desk({ effects: [office.effect({ attemptsMax: 3 })] });
  office.provider.failWhen(() => ({ when: "before", kind: "answer", status: 429 }));
  await desk.owe("order-1");
  for (let n = 0; n < 6; n += 1) {
    await desk.work();
    office.clock.advance(hour);
  }
  expect((await desk.see("order-1")).obligation).toMatchObject({
    state: "stuck",
    reason: "3 tries spent, the last: status 429",
  });
  expect(office.provider.counts().requests).toBe(3);
});
