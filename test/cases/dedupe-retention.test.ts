/** Bytes expire, keys do not: a copy that comes years later is still a copy. */
import { connect, effect, type } from "counterfoil";
import { github, type SignedDelivery, stripe } from "counterfoil/providers";
import { describe, expect, test } from "vitest";
import { sampleDelivery } from "../../src/providers/sample-delivery.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";
import { ours } from "../support/engine.ts";

const day = 24 * 3_600_000;

const ship = effect("ship/v1", {
  input: type<{ event: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://carrier.example/v1/shipments", json: input }),
  idempotency: "none",
});
/** No guard of its own: only the receipt keeps a copy out. */
const paid = stripe.on("payment_intent.succeeded", async ({ event, owe, waitFor }) => {
  if (event.id === "evt-waits") return waitFor("order", "1");
  await owe(ship, { key: [event.id, String(event.raw.length)], input: { event: event.id } });
});

async function shop() {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const server = await startCase({
    connections: [connect("stripe", { provider: stripe, secrets: [caseSecret], tenant: "acme", handlers: [paid] })],
    effects: [ship],
    clock,
  });
  // As a sender signs each delivery anew, or an operator presses its resend button.
  const sent = (id: string): SignedDelivery => {
    const options = { secret: caseSecret, type: "payment_intent.succeeded", id, timestampMs: clock.wallMs() };
    return sampleDelivery(stripe.rules, options);
  };
  return { clock, server, post: (id: string) => server.post(sent(id), "stripe") };
}

const kept = async ({ rows }: CaseServer) =>
  (await rows(`SELECT count(*) AS n FROM ${ours("payloads")}`))[0] as { readonly n: number };

test("an event that comes again after 8, 31 and 400 days is a duplicate, although its bytes are long gone", async () => {
  const { clock, server, post } = await shop();
  expect(await post("evt-1")).toMatchObject({ outcome: "applied" });
  expect(await kept(server)).toEqual({ n: 1 });
  for (const days of [8, 31, 400]) {
    clock.advance(days * day);
    await server.app.drain({ budget: "1ms" });
    expect(await kept(server)).toEqual({ n: 0 });
    expect(await post("evt-1")).toMatchObject({ status: 200, outcome: "duplicate", first: "applied" });
  }
  expect(await server.outcomes()).toEqual(["evt-1 applied"]);
  expect(await server.owed()).toHaveLength(1);
});

test("bytes of an event that is open stay until it is decided, however long that takes", async () => {
  const { clock, server, post } = await shop();
  expect(await post("evt-waits")).toMatchObject({ status: 202, outcome: "parked" });
  clock.advance(400 * day);
  await server.app.drain({ budget: "1ms" });
  expect(await kept(server)).toEqual({ n: 1 });
  expect(await server.app.operator({ who: "test" }).attention()).toMatchObject([{ kind: "receipt" }]);
});

test("a connection that keeps no bytes keeps its keys all the same", async () => {
  const server = await startCase({
    connections: [
      connect("sender", {
        provider: sender,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [sender.on("changed", () => undefined)],
        retention: { bytes: "0s" },
      }),
    ],
  });
  expect(await server.post(signedEvent("evt-1"))).toMatchObject({ outcome: "applied" });
  expect(await kept(server)).toEqual({ n: 0 });
  expect(await server.post(signedEvent("evt-1"))).toMatchObject({ outcome: "duplicate", first: "applied" });
  expect(await server.post(signedEvent("evt-1", { other: 1 }))).toMatchObject({ status: 202, mismatch: true });
});

describe("a sender that does not send again by itself", () => {
  const pushed = github.on("push", ({ event }) => {
    if (event.id === "broken") throw new Error("injected");
  });
  const options = { provider: github, secrets: [caseSecret], tenant: "acme", handlers: [pushed] };

  test("cannot be left to its retries: the policy that would lose its events is refused", async () => {
    await expect(startCase({ connections: [connect("github", { ...options, failing: "refuse" })] })).rejects.toThrow(
      /github does not send again what was refused, so failing: "refuse" would lose events; use "hold"/,
    );
  });

  test("loses nothing to a handler that fails, and what is sent again by hand is known", async () => {
    const server = await startCase({ connections: [connect("github", options)] });
    const push = (id: string): SignedDelivery =>
      sampleDelivery(github.rules, { secret: caseSecret, type: "push", id, timestampMs: 0 });
    expect(await server.post(push("broken"), "github")).toMatchObject({ status: 202, outcome: "held" });
    expect(await server.post(push("broken"), "github")).toMatchObject({ status: 202, first: "held" });
    expect(await server.outcomes()).toEqual(["broken held"]);
  });
});
