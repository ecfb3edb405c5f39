/** Effects that call by a function of the user's: what it says, throws, forgets, or never ends with. */
import { expect, test } from "vitest";
import { sendEffect, type SendContext, type SendEffectOptions, type Sending } from "../../src/domain/effect.ts";
import { defaults } from "../../src/domain/limits.ts";
import { type } from "../../src/domain/schema.ts";
import { checkEffect } from "../../src/outbox/check-effect.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { type Order, openOffice, type Shipment } from "./office.ts";

const hour = 3_600_000;

type Context = SendContext<Order, Shipment>;

function shipBy(
  send: (context: Context) => Promise<Sending>,
  options: Partial<SendEffectOptions<Order, Shipment>> = {},
): ReturnType<typeof sendEffect<Order, Shipment>> {
  return sendEffect<Order, Shipment>("ship/v1", {
    input: type<Order>(),
    destination: "carrier",
    idempotency: { keyLifetime: "24h" },
    send,
    ...options,
  });
}

const cases: readonly (readonly [string, (context: Context) => Promise<Sending>, object])[] = [
  ["done", async ({ done }) => done({ id: "s-1" }), { state: "done", reached: "yes" }],
  ["unsent", async ({ unsent }) => unsent("not connected"), { state: "owed", reached: "no", reason: "not connected" }],
  ["declined", async ({ declined }) => declined("no such order"), { state: "stuck", reached: "no" }],
  ["status 503", async ({ answered }) => answered(503), { state: "owed", reached: "maybe", reason: "status 503" }],
  ["status 429", async ({ answered }) => answered(429), { state: "owed", reached: "no" }],
  ["status 422", async ({ answered }) => answered(422), { state: "stuck", reached: "no" }],
  ["status 204", async ({ answered }) => answered(204), { state: "done", reached: "yes" }],
  ["a key reused", async ({ answered }) => answered(400, { keyReused: true }), { state: "stuck", reached: "maybe" }],
  [
    "a word that is thrown",
    async ({ unsent }) => {
      // oxlint-disable-next-line typescript/only-throw-error -- what says how a call ended may be thrown too
      throw unsent("not connected");
    },
    { state: "owed", reached: "no" },
  ],
  [
    "an error",
    async () => {
      throw new TypeError("fetch failed");
    },
    { state: "owed", reached: "maybe" },
  ],
  ["nothing", async () => undefined as never, { state: "owed", reached: "maybe" }],
  ["somebody else's word", async () => ({}) as Sending, { state: "owed", reached: "maybe" }],
];

test.each(cases)("what ends with %s", async (_, send, expected) => {
  await using office = await openOffice();
  const desk = await office.desk({ effects: [shipBy(send)] });
  await desk.owe("order-1");
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject(expected);
});

test("what never ends is unknown when its time is up, is told so, and goes on under the same key", async () => {
  await using office = await openOffice();
  const seen: Context[] = [];
  const desk = await office.desk({
    effects: [
      shipBy((context) => {
        seen.push(context);
        return seen.length > 1 ? Promise.resolve(context.done({ id: "s-1" })) : new Promise(() => undefined);
      }),
    ],
  });
  await desk.owe("order-1");
  desk.worker.start();
  await eventually(() => seen.length === 1);
  office.clock.advance(defaults.callMs);
  await eventually(async () => (await desk.state("order-1")) === "owed");
  expect(seen[0]?.signal.aborted).toBe(true);
  expect((await desk.see("order-1")).obligation).toMatchObject({
    reached: "maybe",
    reason: "no answer within 30000 ms",
  });
  await desk.worker.stop();
  office.clock.advance(hour);
  await desk.work();
  expect(await desk.state("order-1")).toBe("done");
  expect(new Set(seen.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
});

test("an answer that is no JSON is done all the same, shown, and never sent again", async () => {
  await using office = await openOffice();
  let calls = 0;
  const desk = await office.desk({
    effects: [
      shipBy(
        async ({ done }) => {
          calls += 1;
          return done({ id: 1n } as never);
        },
        { settled: () => undefined },
      ),
    ],
  });
  await desk.owe("order-1");
  await desk.work();
  office.clock.advance(hour);
  await desk.work();
  expect((await desk.see("order-1")).obligation).toMatchObject({ state: "settling", reached: "yes", dueAt: null });
  expect(calls).toBe(1);
});

test("a definition that came to call otherwise does not send what was owed before", async () => {
  await using office = await openOffice();
  const before = await office.desk({ effects: [office.effect({ idempotency: "none" })] });
  await before.owe("order-1");
  const after = await office.desk({
    effects: [shipBy(async ({ done }) => done({ id: "s" }), { idempotency: "none" })],
  });
  await after.work();
  expect((await after.see("order-1")).obligation).toMatchObject({ state: "stuck", reached: "no" });
});

test("an effect that was renamed takes what is owed under its older name, and owes under the new one", async () => {
  await using office = await openOffice();
  const before = await office.desk();
  await before.owe("order-1");
  const renamed = office.effect({ aliases: ["ship/v1"] }, "parcel/v1");
  const after = await office.desk({ effects: [renamed] });
  await after.owe("order-2");
  await after.work();
  expect([await after.state("order-1"), await after.state("order-2")]).toEqual(["done", "done"]);
});

test.each([
  [{ send: undefined }, "it has neither request nor send; say what it does"],
  [{ destination: "" }, "its destination is empty; name what it calls"],
])("%j is refused when the configuration is read", (options, problem) => {
  const { definition } = shipBy(async ({ done }) => done({ id: "s" }), options as never);
  expect(checkEffect(definition, defaults)).toBe(problem);
});

test("an option that belongs to another kind of effect is refused", () => {
  expect(() => shipBy(async ({ done }) => done({ id: "s" }), { headers: () => ({}) } as never)).toThrow(
    /there is no option "headers"/,
  );
});
