/** What the HTTP thread holds while the engine's thread says nothing: bounded, and complete once it speaks again. */
import { setImmediate } from "node:timers/promises";
import type { TelemetryEvent } from "counterfoil";
import { expect, onTestFinished, test } from "vitest";
import type { ToEngine, Turn } from "../../src/front/messages.ts";
import { RemoteHealth } from "../../src/front/remote-health.ts";
import { RemoteInbox } from "../../src/front/remote-inbox.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { headersFromFetch } from "../../src/verify/delivery-headers.ts";
import { signedEvent } from "../support/case-delivery.ts";
import { frontApp } from "./front-app.ts";

/** An inbox whose engine only listens. */
function silentEngine(limits: { readonly waitingMax?: number } = {}) {
  const app = frontApp({ address: ":memory:", limits: { groupMax: 2, ...limits } });
  const connection = app.connections.get("sender")!;
  const turns: Turn[] = [];
  const inbox = new RemoteInbox({
    limits: app.runtime.limits,
    post: (message) => {
      if (message.kind === "turn") turns.push(message);
    },
  });
  const deliver = (id: string, body = signedEvent(id).body) =>
    inbox.deliver(
      connection,
      { headers: headersFromFetch(new Headers(signedEvent(id).headers)), body, arrivedAtMs: 0 },
      () => undefined,
    );
  return { inbox, turns, deliver };
}

const forged = Buffer.from("{}");
const refusal: TelemetryEvent = {
  kind: "delivery.refused",
  connection: "sender",
  code: "SIGNATURE_REFUSED",
  cause: "signature_mismatch",
};

test("a flood of forged deliveries is counted while nobody hears of it, and every one is told afterwards", async () => {
  const { inbox, turns, deliver } = silentEngine();
  for (let turn = 0; turn < 300; turn += 1) {
    const refused = Array.from({ length: 10 }, () => expect(deliver("evt", forged)).rejects.toThrow(/signature/));
    await Promise.all(refused);
    await setImmediate();
  }
  expect(turns).toHaveLength(1);
  inbox.heard();
  await setImmediate();
  expect(turns).toHaveLength(2);
  const [first, rest] = turns.map(({ news }) => news!);
  expect(rest!.refusals).toHaveLength(100);
  expect(rest!.events).toEqual([{ event: refusal, times: 3_000 - 100 - first!.refusals.length }]);
  inbox.heard();
  inbox.flush();
  await setImmediate();
  expect(turns).toHaveLength(2);
});

test("deliveries go on while news wait, and news that wait are handed over at the end", async () => {
  const { inbox, turns, deliver } = silentEngine();
  const refuse = () => expect(deliver("evt", forged)).rejects.toThrow();
  await refuse();
  await setImmediate();
  await refuse();
  const waiting = deliver("evt-1");
  await setImmediate();
  expect(turns.map(({ deliveries, news }) => [deliveries.length, news?.refusals.length])).toEqual([
    [0, 1],
    [1, undefined],
  ]);
  inbox.flush();
  expect(turns[2]).toMatchObject({ deliveries: [], news: { refusals: [{ connection: "sender" }], events: [] } });
  inbox.settle([{ id: 1, error: { code: "INTERNAL", message: "x" } }]);
  await expect(waiting).rejects.toThrow("x");
});

test("deliveries that wait are bounded, and each that is answered makes room for another", async () => {
  const { inbox, turns, deliver } = silentEngine({ waitingMax: 2 });
  const waiting = [deliver("evt-1"), deliver("evt-2")];
  await expect(deliver("evt-3")).rejects.toMatchObject({ code: "OVERLOADED" });
  await setImmediate();
  const [first, second] = turns[0]!.deliveries.map(({ id }) => id) as [number, number];
  const received = { eventId: "evt-2", outcome: "applied", reason: null, duplicate: false, mismatch: false } as const;
  inbox.settle([{ id: second, received }]);
  expect(await waiting[1]).toEqual({ kind: "event", received });
  waiting[1] = deliver("evt-4");
  await expect(deliver("evt-5")).rejects.toMatchObject({ code: "OVERLOADED" });
  inbox.settle([{ id: first, error: { code: "STORE_BUSY", message: "it is busy" } }]);
  await expect(waiting[0]).rejects.toMatchObject({ code: "STORE_BUSY", message: "it is busy" });
  // An answer that nobody waits for any more is none to anybody else.
  inbox.settle([{ id: first, received }]);
  await setImmediate();
  inbox.settle([{ id: turns[1]!.deliveries[0]!.id, received }]);
  expect(await waiting[1]).toEqual({ kind: "event", received });
});

test("whoever asks for health shares one question, and is told no when it is not answered in time", async () => {
  const clock = new VirtualClock();
  const { limits } = frontApp({ address: ":memory:" }).runtime;
  const asked: ToEngine[] = [];
  const health = new RemoteHealth({ limits, clock, post: (message) => void asked.push(message) });
  onTestFinished(() => expect(clock.pendingTimers).toBe(0));
  const live = Array.from({ length: 100 }, () => health.live());
  const ready = [health.ready(), health.ready()];
  expect(asked).toEqual([
    { kind: "ask", health: "live" },
    { kind: "ask", health: "ready" },
  ]);
  clock.advance(limits.queueMs);
  expect(new Set(await Promise.all(live))).toEqual(new Set([false]));
  // Readiness takes a commit, which may have to wait for the lock.
  health.settle("ready", true);
  expect(await Promise.all(ready)).toEqual([true, true]);
  const again = health.live();
  expect(asked).toHaveLength(3);
  health.settle("live", true);
  expect(await again).toBe(true);
});
