/** Whatever is sent is answered, told and kept the same with the HTTP thread and without it. */
import { gzipSync } from "node:zlib";
import { signDelivery } from "counterfoil/providers";
import { expect, test } from "vitest";
import { chunkedBytes, openRaw, type RawRequest, requestBytes } from "../../src/testing/raw-http.ts";
import { careless, caseSecret, item, signedBatch, signedBytes, signedEvent } from "../support/case-delivery.ts";
import { storeAt } from "../support/engine.ts";
import { type FrontProcess, hook, kept, live, serveFront } from "./front-server.ts";

const first = hook(signedEvent("evt-1"));
const others = hook(signedEvent("evt-1", { other: true }));
const [, ...signature] = first.headers!;
const json = ["content-type", "application/json"] as const;
const large = signedEvent("evt-large", { pad: "x".repeat(3_000) });
const inHeader = hook(
  signDelivery(careless.rules, caseSecret, {
    body: Buffer.from('{"type":"changed","data":{}}'),
    timestampMs: 0,
    headers: { "x-id": "evt-h" },
  }),
  "careless",
);
const chunked = ["transfer-encoding", "chunked"] as const;

/** Requests in their order, and how each is answered. */
const requests: readonly (readonly [what: string, answer: string, RawRequest | Uint8Array])[] = [
  ["a signed delivery", '200 {"outcome":"applied","event":"evt-1"}', first],
  ["its copy", '200 {"outcome":"duplicate","first":"applied","event":"evt-1"}', first],
  [
    "its id with other content",
    '202 {"outcome":"duplicate","first":"applied","mismatch":true,"event":"evt-1"}',
    others,
  ],
  [
    "a type without a handler",
    '200 {"outcome":"ignored","event":"evt-2"}',
    hook(signedEvent("evt-2", {}, { type: "x" })),
  ],
  [
    "a handler that fails",
    '202 {"outcome":"held","event":"evt-3"}',
    hook(signedEvent("evt-3", {}, { type: "failing" })),
  ],
  [
    "one that is told so",
    '500 {"error":"HANDLER_FAILED"}',
    hook(signedEvent("evt-4", {}, { type: "failing" }), "strict"),
  ],
  ["a shop of many", '200 {"outcome":"applied","event":"evt-s"}', hook(signedEvent("evt-s"), "shops/acme")],
  ["a shop that is none", '404 {"error":"UNKNOWN_CONNECTION"}', hook(signedEvent("evt-s"), "shops/nobody")],
  ["one that cannot be told", '503 {"error":"CONNECTION_UNAVAILABLE"}', hook(signedEvent("evt-s"), "shops/broken")],
  [
    "a compressed delivery",
    '200 {"outcome":"applied","event":"evt-z"}',
    hook(signedBytes(gzipSync(signedEvent("evt-z").body), { "content-encoding": "gzip" }), "zipped"),
  ],
  [
    "a form",
    '200 {"outcome":"applied","event":"evt-f"}',
    hook(
      signedBytes(`payload=${encodeURIComponent(Buffer.from(signedEvent("evt-f").body).toString())}`, {
        "content-type": "application/x-www-form-urlencoded",
      }),
      "posted",
    ),
  ],
  [
    "a batch",
    '400 {"items":[{"status":200,"outcome":"applied","event":"evt-b1"},{"status":400,"error":"NO_EVENT_ID"},{"status":200,"outcome":"duplicate","first":"applied","event":"evt-b1"},{"status":200,"outcome":"applied","event":"evt-b2"}]}',
    hook(signedBatch([item("evt-b1"), {}, item("evt-b1"), item("evt-b2")]), "bundled"),
  ],
  ["bytes that are no JSON", "202", hook(signedBytes(Buffer.from([0, 255, 128])))],
  ["no bytes", "202", hook(signedBytes(""))],
  ["no event id", '400 {"error":"NO_EVENT_ID"}', hook(signedBytes('{"type":"changed"}'))],
  ["an event id in a header", '200 {"outcome":"applied","event":"evt-h"}', inHeader],
  [
    "an event id in two",
    '400 {"error":"NO_EVENT_ID"}',
    { ...inHeader, headers: [...inHeader.headers!, ["X-ID", "evt-i"]] },
  ],
  ["changed bytes", '401 {"error":"SIGNATURE_REFUSED"}', { ...first, body: "{}" }],
  ["no signature", '401 {"error":"SIGNATURE_REFUSED"}', { ...first, headers: [json] }],
  ["two signatures", '401 {"error":"SIGNATURE_REFUSED"}', { ...first, headers: [json, ...signature, ...signature] }],
  ["an unknown connection", '404 {"error":"UNKNOWN_CONNECTION"}', { ...first, path: "/hooks/nobody" }],
  ["another path", '404 {"error":"UNKNOWN_CONNECTION"}', { ...first, path: "/other" }],
  ["a path in other letters", "200", { ...first, path: "/hooks/%73ender?a=b" }],
  ["another method", '405 {"error":"METHOD_REFUSED"}', { ...first, method: "PUT" }],
  [
    "another media type",
    '415 {"error":"MEDIA_TYPE_REFUSED"}',
    { ...first, headers: [["content-type", "text/plain"], ...signature] },
  ],
  ["a large body", '413 {"error":"BODY_TOO_LARGE"}', hook(large)],
  [
    "a large body without a length",
    '413 {"error":"BODY_TOO_LARGE"}',
    Buffer.concat([
      requestBytes({ ...hook(large), headers: [...Object.entries(large.headers), chunked], body: "" }),
      chunkedBytes(large.body),
    ]),
  ],
  [
    "many headers",
    "431",
    { ...first, headers: [...first.headers!, ...Array.from({ length: 200 }, (_, n) => [`x-${n}`, ""] as const)] },
  ],
  ["large headers", "431", { ...first, headers: [["x-large", "x".repeat(20_000)], ...first.headers!] }],
  ["no host", "400", Buffer.from("POST /hooks/sender HTTP/1.1\r\ncontent-length: 0\r\n\r\n")],
  ["no HTTP", "400", Buffer.from("nonsense\r\n\r\n")],
  ["a question for health", '200 {"ok":true}', live],
  ["another one", '200 {"ok":true}', { ...live, path: "/health/ready" }],
];

interface Seen {
  readonly answers: readonly string[];
  readonly logged: readonly object[];
  readonly refusals: readonly unknown[];
  readonly [more: string]: unknown;
}

/** Everything that one server tells, logs and keeps of the requests. */
async function seen({ port, running, database }: FrontProcess): Promise<Seen> {
  const exchanges: (readonly [string, unknown])[] = [];
  for (const [, , request] of requests) {
    await using connection = await openRaw(port);
    await connection.send(request instanceof Uint8Array ? request : requestBytes(request));
    const { statusLine, status, headers, body } = await connection.read();
    const same = headers.filter(([name]) => name.toLowerCase() !== "date");
    exchanges.push([`${status} ${body.toString()}`, [statusLine, same]]);
  }
  running.child.kill("SIGTERM");
  const { code, stderr } = await running.end();
  const logged = stderr
    .trimEnd()
    .split("\n")
    .map((line) => ({ ...(JSON.parse(line) as Record<string, unknown>), time: 0, pid: 0, ms: 0 }))
    .filter((line) => "kind" in line && String(line.kind).startsWith("delivery."));
  const store = storeAt(database.address);
  await store.open();
  const refusals = (await store.reader.refusals({ limit: 100 })).map(({ connection, cause, facts }) => [
    connection,
    cause,
    facts,
  ]);
  await store.close();
  return {
    answers: exchanges.map(([answer]) => answer),
    heads: exchanges.map(([, head]) => head),
    code,
    logged,
    refusals,
    kept: await kept(database),
  };
}

test("every request is answered, told and kept the same with the thread and without it", async () => {
  const options = { limits: { bodyBytes: 2_048 } };
  const servers = await Promise.all(
    [[], ["--no-http-thread"]].map((args) => serveFront(["--log", "debug", ...args], options)),
  );
  const [withThread, without] = await Promise.all(servers.map(seen));
  const heads = withThread!.answers.map((answer, n) => [requests[n]![0], answer.slice(0, requests[n]![1].length)]);
  expect(heads).toEqual(requests.map(([what, answer]) => [what, answer]));
  expect(withThread).toEqual(without);
  expect(withThread).toMatchObject({
    code: 0,
    kept: { applied: ["evt-1", "evt-b1", "evt-b2", "evt-f", "evt-s", "evt-z"] },
  });
  // All but what Node answers by itself, and health; of the batch each of its four items.
  expect([withThread!.logged.length, withThread!.refusals.length]).toEqual([requests.length - 6 + 3, 3]);
}, 120_000);
