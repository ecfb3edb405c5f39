/** Bodies that say something else than their bytes: compressed ones and forms, where a connection declares them. */
import { gzipSync } from "node:zlib";
import { connect } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";
import { beforeEach, describe, expect, test } from "vitest";
import { fields, posted, zipped, zippedInside } from "../support/case-delivery.ts";
import { caseSecret, type CaseServer, sender, signedBytes, signedEvent, startCase } from "../support/case-server.ts";

const limit = 64 * 1024;
const common = { secrets: [caseSecret], tenant: "acme", bodyBytesMax: limit } as const;
const seen: { readonly id: string; readonly data: unknown; readonly raw: string }[] = [];
const handle = ({ event }: { event: { id: string; data: unknown; raw: Uint8Array } }): void =>
  void seen.push({ id: event.id, data: event.data, raw: Buffer.from(event.raw).toString("hex") });

beforeEach(() => void seen.splice(0));

function start(): Promise<CaseServer> {
  return startCase({
    connections: [
      connect("sender", { ...common, provider: sender, handlers: [sender.on("changed", handle)] }),
      connect("zipped", { ...common, provider: zipped, handlers: [zipped.on("changed", handle)] }),
      connect("inside", { ...common, provider: zippedInside, handlers: [zippedInside.on("changed", handle)] }),
      connect("posted", { ...common, provider: posted, handlers: [posted.on("changed", handle)] }),
      connect("fields", { ...common, provider: fields, handlers: [fields.on("changed", handle)] }),
    ],
  });
}

const gzip = { "content-encoding": "gzip" };
const form = { "content-type": "application/x-www-form-urlencoded" };

function sentZipped(body: Uint8Array): SignedDelivery {
  return signedBytes(gzipSync(body), gzip);
}

/** Signed before it was compressed. */
function zippedAfterwards({ headers, body }: SignedDelivery, zippedBody = gzipSync(body)): SignedDelivery {
  return { headers: { ...headers, ...gzip }, body: zippedBody };
}

async function keptBytes({ app }: CaseServer): Promise<readonly string[]> {
  const receipts = await app.runtime.store.reader.receipts({}, { limit: 10 });
  const operator = app.operator({ who: "ada" });
  const payloads = await Promise.all(receipts.map(({ id }) => operator.payload(id)));
  return payloads.map(({ bytes }) => Buffer.from(bytes).toString("hex")).toReversed();
}

describe("a compressed body", () => {
  test("is verified as it was sent where that is signed, and kept so; what it says is the event", async () => {
    const server = await start();
    const event = signedEvent("evt-1", { n: 1 });
    const delivery = sentZipped(event.body);
    expect(await server.post(delivery, "zipped")).toMatchObject({ status: 200, outcome: "applied", event: "evt-1" });
    const raw = Buffer.from(delivery.body).toString("hex");
    expect(seen).toEqual([{ id: "evt-1", data: { n: 1 }, raw }]);
    expect(await keptBytes(server)).toEqual([raw]);
    // The same content, compressed in another way or not at all, is a copy of it; other content is a mismatch.
    for (const copy of [signedBytes(gzipSync(event.body, { level: 1 }), gzip), event]) {
      expect(await server.post(copy, "zipped")).toEqual({
        status: 200,
        outcome: "duplicate",
        first: "applied",
        event: "evt-1",
      });
    }
    expect(await server.post(sentZipped(signedEvent("evt-1", { n: 2 }).body), "zipped")).toMatchObject({
      mismatch: true,
    });
    expect(await server.post(zippedAfterwards(signedEvent("evt-2")), "zipped")).toMatchObject({ status: 401 });
  });

  test("is verified inflated where that is signed, and kept so", async () => {
    const server = await start();
    const event = signedEvent("evt-1", { n: 1 });
    expect(await server.post(zippedAfterwards(event), "inside")).toMatchObject({ status: 200, outcome: "applied" });
    expect(await keptBytes(server)).toEqual([Buffer.from(event.body).toString("hex")]);
    expect(await server.post(event, "inside")).toMatchObject({ status: 200, outcome: "duplicate" });
    expect(await server.post(sentZipped(event.body), "inside")).toMatchObject({ status: 401 });
  });

  test("is read again from what was kept of it", async () => {
    const server = await start();
    await server.post(sentZipped(signedEvent("evt-1", { n: 1 }, { type: "unknown" }).body), "zipped");
    await server.app.stop();
    const later = await startCase({
      database: server.database,
      connections: [connect("zipped", { ...common, provider: zipped, handlers: [zipped.on("unknown", handle)] })],
    });
    const [receipt] = await later.app.runtime.store.reader.receipts({}, { limit: 1 });
    await later.app.operator({ who: "ada" }).reprocess({ receiptId: receipt!.id });
    expect(seen).toMatchObject([{ id: "evt-1", data: { n: 1 } }]);
    expect(await later.outcomes()).toEqual(["evt-1 applied"]);
  });

  test.each(["zipped", "inside"])(
    "that inflates beyond the limit is 413 to %s, and leaves nothing",
    async (connection) => {
      const server = await start();
      const bomb = Buffer.alloc(256 * 1024 * 1024);
      const small = gzipSync(bomb, { level: 9 });
      // Ten layers of this would fit; it is cut at the first bytes that are too many.
      for (const body of [gzipSync(Buffer.alloc(limit + 1)), small.subarray(0, limit)]) {
        const delivery =
          connection === "zipped"
            ? signedBytes(body, gzip)
            : { headers: { ...signedBytes("").headers, ...gzip }, body };
        const before = process.memoryUsage().arrayBuffers;
        expect(await server.post(delivery, connection)).toEqual({ status: 413, error: "BODY_TOO_LARGE" });
        expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
      }
      expect(await server.outcomes()).toEqual([]);
      const atLimit = signedEvent("evt-1", { pad: "x".repeat(limit - signedEvent("evt-1", { pad: "" }).body.length) });
      const delivery = connection === "zipped" ? sentZipped(atLimit.body) : zippedAfterwards(atLimit);
      expect(await server.post(delivery, connection)).toMatchObject({ status: 200, outcome: "applied" });
    },
  );

  test("that is damaged is kept for the operator where its bytes are signed, and else refused", async () => {
    const server = await start();
    const whole = gzipSync(signedEvent("evt-1").body);
    const damaged = [
      whole.subarray(0, -4),
      Buffer.from("{}"),
      Buffer.concat([whole.subarray(0, 20), Buffer.alloc(9, 7)]),
    ];
    for (const body of damaged) {
      const kept = await server.post(signedBytes(body, gzip), "zipped");
      expect(kept).toMatchObject({ status: 202, outcome: "quarantined", event: expect.stringMatching(/^unreadable:/) });
      const signed = { headers: { ...signedEvent("evt-1").headers, ...gzip }, body };
      expect(await server.post(signed, "inside")).toEqual({ status: 400, error: "BODY_INCOMPLETE" });
    }
    expect(await server.outcomes()).toHaveLength(damaged.length);
    expect(seen).toEqual([]);
  });

  test("is refused where it is not declared", async () => {
    const server = await start();
    expect(await server.post(sentZipped(signedEvent("evt-1").body))).toEqual({
      status: 415,
      error: "MEDIA_TYPE_REFUSED",
    });
    expect(await server.outcomes()).toEqual([]);
  });
});

describe("a form", () => {
  const json = signedEvent("evt-1", { text: "a+b %00 \u2713 &=" }).body;

  test("that holds JSON in its field is decoded once, verified and kept as it came", async () => {
    const server = await start();
    const body = Buffer.from(`v=1&${new URLSearchParams({ payload: Buffer.from(json).toString() }).toString()}`);
    const delivery = signedBytes(body, form);
    expect(await server.post(delivery, "posted")).toMatchObject({ status: 200, outcome: "applied", event: "evt-1" });
    expect(seen).toEqual([{ id: "evt-1", data: { text: "a+b %00 \u2713 &=" }, raw: body.toString("hex") }]);
    expect(await keptBytes(server)).toEqual([body.toString("hex")]);
    // The sender's setting was changed to JSON: the same event all the same.
    expect(await server.post(signedBytes(json), "posted")).toEqual({
      status: 200,
      outcome: "duplicate",
      first: "applied",
      event: "evt-1",
    });
  });

  test.each([
    ["payload=%7B%7D&payload=%7B%7D"],
    ["other=1"],
    ["payload=%7"],
    ["payload=%FF"],
    ["payload=%7B%00%7D"],
    [`payload=%7B%7D${"&a=1".repeat(1_000)}`],
  ])("of which nobody can tell what it says (%#) is kept for the operator", async (body) => {
    const server = await start();
    for (const outcome of ["quarantined", "duplicate"]) {
      expect(await server.post(signedBytes(body, form), "posted")).toMatchObject({ status: 202, outcome });
    }
    expect(seen).toEqual([]);
  });

  test("whose fields are the event is an object of them", async () => {
    const server = await start();
    const sent = (body: string) => server.post(signedBytes(`\ufeff${body}`, form), "fields");
    expect(await sent("id=evt-1&type=changed&note=x%2By+z&note=2")).toMatchObject({ status: 200, event: "evt-1" });
    expect(seen).toMatchObject([{ data: { id: "evt-1", type: "changed", note: "2" } }]);
    expect(await sent("id=evt-1&id=evt-2&type=changed")).toEqual({ status: 400, error: "NO_EVENT_ID" });
    expect(await sent("id=evt-3&type=changed&type=other")).toMatchObject({ status: 202, outcome: "quarantined" });
    expect(await sent("id=evt-4&type=changed&account=a&account=b")).toMatchObject({
      status: 202,
      outcome: "quarantined",
    });
    expect(seen).toHaveLength(1);
  });

  test("is refused where it is not declared, and so is another charset of one that is", async () => {
    const server = await start();
    const refused = { status: 415, error: "MEDIA_TYPE_REFUSED" };
    expect(await server.post(signedBytes("payload=%7B%7D", form))).toEqual(refused);
    const latin = { "content-type": "application/x-www-form-urlencoded; charset=iso-8859-1" };
    expect(await server.post(signedBytes("payload=%7B%7D", latin), "posted")).toEqual(refused);
    expect(await server.outcomes()).toEqual([]);
  });
});
