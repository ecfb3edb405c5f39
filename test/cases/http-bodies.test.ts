/** Bodies as real senders and bad ones send them: large, endless, cut, slow, with a byte order mark. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "counterfoil";
import { github, signDelivery, stripe } from "counterfoil/providers";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { chunkedBytes, openRaw, requestBytes } from "../../src/testing/raw-http.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, type CaseServer, sender, signedBytes, signedEvent, startCase } from "../support/case-server.ts";

const changed = sender.on("changed", () => undefined);
const connection = connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] });

function kinds({ events }: CaseServer): readonly string[] {
  return events.map(({ kind }) => kind);
}

/** A signed event of exactly this many bytes. */
function eventOf(bytes: number, id = `evt-${bytes}`): ReturnType<typeof signedEvent> {
  return signedEvent(id, { pad: "x".repeat(bytes - signedEvent(id, { pad: "" }).body.length) });
}

describe("large bodies", () => {
  test("are taken up to the limit, with and without a length, and each one that is over is told of", async () => {
    const server = await startCase({ connections: [connection] });
    const limit = 1024 * 1024;
    for (const bytes of [101_000, 457_000, 1_000_000, limit]) {
      expect(await server.post(eventOf(bytes))).toMatchObject({ status: 200, outcome: "applied" });
    }
    const { headers, body } = eventOf(limit, "chunked");
    await using raw = await openRaw(server.port);
    const coded = [...Object.entries(headers), ["transfer-encoding", "chunked"]] as [string, string][];
    await raw.send(requestBytes({ path: "/hooks/sender", headers: coded }));
    await raw.send(chunkedBytes(body.subarray(0, 7), body.subarray(7, 300_000), body.subarray(300_000)));
    expect(await raw.read()).toMatchObject({ status: 200 });
    expect(await server.post(eventOf(limit + 1))).toEqual({ status: 413, error: "BODY_TOO_LARGE" });
    expect(server.events).toContainEqual({
      kind: "delivery.refused",
      connection: "sender",
      code: "BODY_TOO_LARGE",
      cause: null,
    });
    expect(await server.outcomes()).toHaveLength(5);
  });

  test("of a provider that sends larger ones are taken up to its own cap", async () => {
    const hub = connect("github", { provider: github, secrets: [caseSecret], tenant: "acme", handlers: [] });
    const server = await startCase({ connections: [hub] });
    const push = signDelivery(github.rules, caseSecret, {
      body: Buffer.from(JSON.stringify({ ref: "x".repeat(3 * 1024 * 1024) })),
      headers: { "x-github-delivery": "1", "x-github-event": "push" },
      timestampMs: 0,
    });
    expect(await server.post(push, "github")).toMatchObject({ status: 200, outcome: "ignored" });
    expect(server.app.connections.get("github")?.bodyBytesMax).toBe(25 * 1024 * 1024);
  });
});

describe("bodies that end wrongly", () => {
  const delivery = signedEvent("evt-1");
  const head = (length: number): Buffer =>
    requestBytes({
      path: "/hooks/sender",
      headers: [...Object.entries(delivery.headers), ["content-length", String(length)]],
    });

  test("are answered 400 when they are longer than announced, and nothing of them is kept", async () => {
    const server = await startCase({ connections: [connection] });
    await using raw = await openRaw(server.port);
    await raw.send(Buffer.concat([head(delivery.body.length - 1), delivery.body]));
    expect(await raw.read()).toMatchObject({ status: 400 });
    await server.app.stop();
    expect(kinds(server)).not.toContain("delivery.answered");
  });

  test("are kept nowhere when the sender ends or resets the connection in the middle", async () => {
    const server = await startCase({ connections: [connection] });
    for (const leave of ["end", "reset"] as const) {
      await using raw = await openRaw(server.port);
      await raw.send(Buffer.concat([head(delivery.body.length), delivery.body.subarray(0, 10)]));
      raw[leave]();
      await raw.rest().catch(() => undefined);
    }
    const cut = (): unknown[] => server.events.filter((event) => "code" in event && event.code === "BODY_INCOMPLETE");
    await eventually(() => cut().length === 2);
    expect(await server.outcomes()).toEqual([]);
    expect(await server.post(delivery)).toMatchObject({ status: 200, outcome: "applied" });
  });

  test("are answered 400 when they drip past the time for a request", async () => {
    const clock = new VirtualClock({ wallMs: Date.now() });
    const server = await startCase({ connections: [connection], clock });
    let arrived = 0;
    const mine = createServer((request, response) => {
      server.app.node(request, response);
      request.on("data", (chunk: Buffer) => (arrived += chunk.length));
    });
    onTestFinished(() => void mine.close());
    await new Promise<void>((resolve) => void mine.listen(0, "127.0.0.1", resolve));
    await using raw = await openRaw((mine.address() as AddressInfo).port);
    await raw.send(head(delivery.body.length));
    for (const at of [0, 1, 2]) {
      await raw.send(delivery.body.subarray(at, at + 1));
      await eventually(() => arrived === at + 1);
      clock.advance(at === 2 ? 1 : 9_999 / 2);
    }
    const answer = await raw.read();
    expect([answer.status, answer.body.toString()]).toEqual([400, '{"error":"BODY_INCOMPLETE"}']);
    // Nothing of a later request is read on this connection.
    expect(await raw.rest()).toEqual(Buffer.alloc(0));
    expect(await server.outcomes()).toEqual([]);
  });

  test("are answered 400 when a server of the Fetch standard waits for them past that time", async () => {
    const clock = new VirtualClock({ wallMs: Date.now() });
    const server = await startCase({ connections: [connection], clock });
    const { headers, body } = signedEvent("evt-1");
    let left = false;
    const stuck = new ReadableStream({
      start: (controller) => controller.enqueue(body.subarray(0, 10)),
      // Never done, as with a source that does not answer any more.
      cancel: () => new Promise(() => (left = true)),
    });
    const request = { method: "POST", headers, body: stuck, duplex: "half" } as const;
    const answering = server.app.fetch(new Request("http://localhost/hooks/sender", request));
    await eventually(() => clock.pendingTimers === 1);
    clock.advance(10_000);
    const answer = await answering;
    expect([answer.status, await answer.text()]).toEqual([400, '{"error":"BODY_INCOMPLETE"}']);
    expect([left, clock.pendingTimers]).toEqual([true, 0]);
  });
});

describe("a byte order mark", () => {
  test("is part of what was signed and of what is kept, and only skipped for reading", async () => {
    const server = await startCase({ connections: [connection] });
    const body = '\ufeff{"id":"evt-1","type":"changed","data":{}}';
    expect(await server.post(signedBytes(body))).toMatchObject({ status: 200, outcome: "applied", event: "evt-1" });
    const stripped = { ...signedBytes(body), body: Buffer.from(body.slice(1)) };
    expect(await server.post(stripped)).toEqual({ status: 401, error: "SIGNATURE_REFUSED" });
    const [receipt] = await server.app.operator({ who: "test" }).receipts();
    const kept = await server.app.runtime.store.reader.payload(receipt!.id);
    expect(Buffer.from(kept!.bytes)).toEqual(Buffer.from(body));
  });

  test.each(["application/json; charset=iso-8859-1", "application/json;charset=UTF-16", "text/plain"])(
    "does not make up for a body said to be %s: 415",
    async (type) => {
      const server = await startCase({ connections: [connection] });
      const { headers, body } = signedEvent("evt-1");
      const answer = await server.post({ headers: { ...headers, "content-type": type }, body });
      expect(answer).toEqual({ status: 415, error: "MEDIA_TYPE_REFUSED" });
      expect(await server.outcomes()).toEqual([]);
    },
  );
});

test("a charset that is UTF-8 under any of its spellings, or none, is taken", async () => {
  const server = await startCase({ connections: [connection] });
  const spellings = ["application/json", "application/json; charset=utf-8", 'Application/JSON; Charset="UTF8"', ""];
  for (const [n, type] of spellings.entries()) {
    const { headers, body } = signedEvent(`evt-${n}`);
    expect(await server.post({ headers: { ...headers, "content-type": type }, body })).toMatchObject({ status: 200 });
  }
});

test("hooks of a provider that sends by another method are taken by that one only", async () => {
  const putting = { ...sender, rules: { ...sender.rules, methods: ["PUT"] as [string] } };
  const server = await startCase({
    connections: [connect("sender", { provider: putting, secrets: [caseSecret], tenant: "acme", handlers: [] })],
  });
  expect(await server.post(signedEvent("evt-1"))).toEqual({ status: 405, error: "METHOD_REFUSED" });
  expect(stripe.rules.methods).toEqual(["POST"]);
});
