/** The `settled` hook: once per operation, from the stored answer, and never a cause to send again. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { SettledContext } from "../../src/domain/effect.ts";
import type { TelemetryEvent } from "../../src/domain/telemetry.ts";
import type { CallResult } from "../../src/outbox/call-result.ts";
import { operatorAnswer } from "../../src/outbox/stored-answer.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { transact } from "../../src/work/transact.ts";
import { handlersSettleAtOnce } from "../support/engine.ts";
import {
  type Desk,
  type DeskOptions,
  type Office,
  openOffice,
  type Order,
  type ShipOptions,
  type Shipment,
} from "./office.ts";

type Settled = (context: SettledContext<Order, Shipment>) => unknown;

/** Writes the shipment of an order, and fails where it is there already. */
const track: Settled = ({ tx, operation, result }) =>
  tx.sql`INSERT INTO tracking (order_id, shipment, source) VALUES (${operation.input.order}, ${result.answer.id}, ${result.source})`;

type HookOptions = ShipOptions & Pick<DeskOptions, "onEvent" | "beforeTransaction">;

async function deskWith(
  office: Office,
  settled: Settled,
  { onEvent, beforeTransaction, ...options }: HookOptions = {},
): Promise<Desk> {
  const desk = await office.desk({
    effects: [office.effect({ settled, ...options })],
    ...(onEvent && { onEvent }),
    ...(beforeTransaction && { beforeTransaction }),
  });
  await transact(desk.runtime, (tx) =>
    tx.run("CREATE TABLE IF NOT EXISTS tracking (order_id TEXT PRIMARY KEY, shipment TEXT, source TEXT)", []),
  );
  return desk;
}

function tracked(office: Office): Promise<readonly object[]> {
  return office.database.run("SELECT order_id, source FROM tracking");
}

/** The answer of a call is committed, and its hook about to begin. */
function isAnswered(event: TelemetryEvent): boolean {
  return event.kind === "attempt.ended" && event.state === "settling";
}

/** Takes an obligation away from its worker, as a rescuer does that found the lease ended. */
async function takeOver(desk: Desk, order: string): Promise<void> {
  const { obligation } = await desk.see(order);
  const { id, fence } = obligation;
  await transact(desk.runtime, (tx) =>
    tx.move([
      {
        obligationId: id,
        fence,
        to: { ...obligation, dueAt: tx.now },
        attempt: null,
        keepLease: false,
        raiseFence: true,
      },
    ]),
  );
}

test("its work commits with the end of the obligation", async () => {
  await using office = await openOffice();
  const desk = await deskWith(office, track);
  await desk.owe("order-1");
  await desk.work();
  expect(await tracked(office)).toEqual([{ order_id: "order-1", source: "answer" }]);
  const { obligation, attempts, lease } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "done", reached: "yes", dueAt: null });
  expect(attempts).toMatchObject([{ kind: "send", verdict: "done" }]);
  expect(lease).toBeNull();
  expect(desk.events).toMatchObject([
    { kind: "attempt.started", attempt: "send" },
    { kind: "attempt.ended", attempt: "send", verdict: "done", state: "settling" },
    { kind: "attempt.ended", attempt: "settle", verdict: "done", state: "done" },
  ]);
});

test("one that fails leaves nothing, and runs again from the stored answer, without a send", async () => {
  await using office = await openOffice();
  let failures = 2;
  const desk = await deskWith(office, async (context) => {
    await track(context);
    if (failures-- > 0) throw new Error("s3cret");
  });
  await desk.owe("order-1");
  await desk.work();
  expect(await tracked(office)).toEqual([]);
  const { obligation } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "settling", reached: "yes", tries: 1 });
  expect(obligation.reason).toContain("the settled hook failed with Error");
  expect(obligation.reason).not.toContain("s3cret");
  for (let n = 0; n < 2; n += 1) {
    office.clock.advance(5_000);
    await desk.work();
  }
  expect(await tracked(office)).toHaveLength(1);
  const { obligation: end, attempts } = await desk.see("order-1");
  expect(end).toMatchObject({ state: "done", reason: null });
  expect(attempts.map(({ kind, verdict }) => [kind, verdict])).toEqual([
    ["send", "done"],
    ["settle", "hook_failed"],
    ["settle", "done"],
  ]);
  expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
});

test("one that keeps failing is the operator's in the end, and is never a cause to send", async () => {
  await using office = await openOffice({ limits: { hookTriesMax: 3 } });
  const desk = await deskWith(office, () => {
    throw new TypeError("no");
  });
  await desk.owe("order-1");
  for (let n = 0; n < 6; n += 1) {
    await desk.work();
    office.clock.advance(3_600_000);
  }
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "settling", tries: 3, dueAt: null });
  expect(office.provider.counts().requests).toBe(1);
});

test.runIf(handlersSettleAtOnce)("one that waits for something else is rolled back, and says so", async () => {
  await using office = await openOffice();
  const desk = await deskWith(office, async (context) => {
    await track(context);
    await setImmediate();
  });
  await desk.owe("order-1");
  await desk.work();
  expect(await tracked(office)).toEqual([]);
  expect((await desk.see("order-1")).obligation.reason).toContain("HANDLER_UNFINISHED");
});

test("one whose worker dies while it runs is run again by the next, and counts", async () => {
  await using office = await openOffice();
  const desk = await deskWith(office, track);
  await desk.owe("order-1");
  await transact(desk.runtime, async (tx) => {
    const lanes = (await tx.dueLanes()).map((lane) => ({ ...lane, limit: 1 }));
    const [claim] = await tx.claim({ lanes, worker: "dead", leaseMs: 60_000 });
    const answer = { status: 201, body: new TextEncoder().encode('{"id":"s-1"}'), truncated: false };
    const { obligation } = claim!;
    await tx.move([
      {
        obligationId: obligation.id,
        fence: claim!.fence,
        to: { ...obligation, state: "settling", reached: "yes" },
        attempt: { verdict: "done", phase: "complete", status: 201, cause: null, answer },
        keepLease: true,
        raiseFence: false,
      },
    ]);
  });
  await desk.work();
  expect(await tracked(office)).toEqual([]);
  office.clock.advance(60_000);
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "settling", tries: 1 });
  office.clock.advance(2_000);
  await desk.work();
  expect(await tracked(office)).toEqual([{ order_id: "order-1", source: "answer" }]);
  expect(office.provider.counts().requests).toBe(0);
});

test("one whose worker was overtaken before it began leaves nothing: the next holder's run is the only one", async () => {
  await using office = await openOffice();
  const rescuer = await office.desk();
  let takingOver: Promise<void> | undefined;
  const desk = await deskWith(office, track, {
    onEvent: (event) => void (isAnswered(event) && (takingOver ??= takeOver(rescuer, "order-1"))),
    // Whichever of its transactions is the next: none begins before it was overtaken.
    beforeTransaction: async () => takingOver,
  });
  await desk.owe("order-1");
  await desk.work();
  const told = desk.kinds();
  expect(told.indexOf("fence.refused")).toBeGreaterThan(-1);
  expect(await tracked(office)).toEqual([{ order_id: "order-1", source: "answer" }]);
  const { obligation, attempts } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "done", fence: 3 });
  expect(attempts.map(({ fence, kind, verdict }) => [fence, kind, verdict])).toEqual([
    [1, "send", "done"],
    [3, "settle", "done"],
  ]);
});

test("one that the store cannot take now is run again under the same lease, and not counted as failed", async () => {
  await using office = await openOffice({ limits: { lockMs: 50 } });
  let answered = false;
  let lock: AsyncDisposable | undefined;
  const desk = await office.desk({
    effects: [office.effect({ settled: () => undefined })],
    onEvent: (event) => void (answered ||= isAnswered(event)),
    beforeTransaction: async () => void (answered && (lock ??= await office.database.lock())),
  });
  await desk.owe("order-1");
  desk.worker.start();
  await eventually(() => lock);
  await eventually(() => {
    office.clock.advance(1_000);
    return desk.kinds().includes("loop.failed");
  });
  expect(await desk.state("order-1")).toBe("settling");
  await lock?.[Symbol.asyncDispose]();
  await eventually(async () => {
    office.clock.advance(1_000);
    return (await desk.state("order-1")) === "done";
  });
  const { obligation, attempts } = await desk.see("order-1");
  expect(obligation).toMatchObject({ tries: 0, fence: 1 });
  expect(attempts).toHaveLength(1);
});

test.each<[string, Extract<CallResult, { kind: "answered" }> | undefined]>([
  ["is paused", answered(401)],
  ["asked to be left alone", answered(429, { "retry-after": ["3600"] })],
  ["has no slot free", undefined],
])("one whose destination %s runs all the same: it calls nobody", async (_, refusal) => {
  await using office = await openOffice({ limits: { callsPerDestination: 1 } });
  const release = Promise.withResolvers<CallResult>();
  let failing = true;
  const ship = office.effect({
    settled: (context) => {
      if (failing) throw new Error("not yet");
      return track(context);
    },
  });
  const answers = [Promise.resolve(answered(201)), refusal ? Promise.resolve(refusal) : release.promise];
  let calls = 0;
  const desk = await office.desk({
    effects: [ship],
    call: () => answers[calls++] ?? Promise.reject(new Error("third")),
  });
  await transact(desk.runtime, (tx) => tx.run("CREATE TABLE tracking (order_id TEXT, shipment TEXT, source TEXT)", []));
  await desk.owe("order-1");
  await desk.work();
  expect(await desk.state("order-1")).toBe("settling");
  failing = false;
  await desk.owe("order-2");
  desk.worker.start();
  await eventually(() => calls === 2);
  if (refusal) await eventually(async () => (await desk.see("order-2")).attempts[0]?.endedAt);
  await eventually(async () => {
    office.clock.advance(1_000);
    return (await desk.state("order-1")) === "done";
  });
  expect(await tracked(office)).toEqual([{ order_id: "order-1", source: "answer" }]);
  expect(calls).toBe(2);
  release.resolve(answered(201));
  await desk.worker.stop({ graceMs: 0 });
});

function answered(status: number, headers: Readonly<Record<string, readonly string[]>> = {}) {
  const body = new TextEncoder().encode('{"id":"s-1"}');
  return { kind: "answered", reached: "yes", phase: "complete", status, headers, body, truncated: false } as const;
}

describe("the result", () => {
  test("says lookup where a lookup found it, also after a restart", async () => {
    await using office = await openOffice();
    let failing = true;
    const settled: Settled = (context) => {
      if (failing) throw new Error("not yet");
      return track(context);
    };
    const options: HookOptions = { idempotency: "none", lookup: office.lookup };
    const desk = await deskWith(office, settled, options);
    office.provider.failNext({ when: "after", kind: "reset" });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(10_000);
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "settling", tries: 1 });
    failing = false;
    const next = await deskWith(office, settled, options);
    office.clock.advance(2_000);
    await next.work();
    expect(await tracked(office)).toEqual([{ order_id: "order-1", source: "lookup" }]);
  });

  test("that a lookup found and that does not fit never reaches the hook either", async () => {
    await using office = await openOffice();
    const found = (() => ({ number: 7 })) as unknown as NonNullable<ShipOptions["lookup"]>["found"];
    const desk = await deskWith(office, track, { idempotency: "none", lookup: { ...office.lookup, found } });
    office.provider.failNext({ when: "after", kind: "reset" });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(10_000);
    await desk.work();
    expect(await tracked(office)).toEqual([]);
    const reason = 'the answer does not fit at "id"';
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "settling", dueAt: null, reason });
  });

  test("says operator where an operator gave it", async () => {
    await using office = await openOffice();
    const desk = await deskWith(office, track);
    office.provider.failNext({ when: "before", kind: "answer", status: 422 });
    await desk.owe("order-1");
    await desk.work();
    await transact(desk.runtime, async (tx) => {
      const { obligation } = await desk.see("order-1");
      await tx.move([
        {
          obligationId: obligation.id,
          fence: obligation.fence,
          to: { ...obligation, state: "settling", reached: "yes", dueAt: tx.now },
          attempt: null,
          keepLease: false,
          raiseFence: true,
          answer: operatorAnswer({ id: "by hand" }, 1_000),
        },
      ]);
    });
    await desk.work();
    expect(await tracked(office)).toEqual([{ order_id: "order-1", source: "operator" }]);
  });

  test("never reaches the hook where it does not fit: the operator is shown it, and nothing is sent again", async () => {
    await using office = await openOffice();
    const desk = await deskWith(office, track);
    office.provider.failNext({ when: "after", kind: "answer", status: 200, body: '{"number":7}' });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(86_400_000);
    await desk.work();
    expect(await tracked(office)).toEqual([]);
    expect((await desk.see("order-1")).obligation).toMatchObject({
      state: "settling",
      reached: "yes",
      dueAt: null,
      reason: 'the answer does not fit at "id"',
    });
    expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
  });
});

test("what it owes and what it says has arrived are picked up at once", async () => {
  await using office = await openOffice();
  const mail = office.effect(
    {
      request: ({ input }) => ({
        method: "POST",
        url: `${office.provider.url}/v1/shipments`,
        json: { mail: input.order },
      }),
    },
    "mail/v1",
  );
  const ship = office.effect({
    settled: async ({ operation, owe, arrived }) => {
      await owe(mail, { key: [`mail-${operation.input.order}`, "fulfil", "v1"], input: operation.input });
      await arrived("shipment", operation.input.order);
    },
  });
  const desk = await office.desk({ effects: [ship, mail] });
  await desk.owe("order-1");
  await desk.work();
  expect(await desk.state("mail-order-1")).toBe("done");
  expect(office.provider.counts().effects).toBe(2);
});
