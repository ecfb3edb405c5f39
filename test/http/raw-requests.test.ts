/** Requests that no honest sender makes: they are read in one way or not at all, and wait for nobody. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRaw, requestBytes } from "../../src/testing/raw-http.ts";
import { type HooksServer, rawRequest, startHooks } from "../support/hooks-server.ts";
import { payment } from "../support/order-app.ts";

let hooks: HooksServer;
beforeEach(async () => {
  hooks = await startHooks({ limits: { headersMs: 500, requestMs: 500 } });
});
afterEach(() => hooks[Symbol.asyncDispose]());

async function statusOf(bytes: Uint8Array | string): Promise<number> {
  await using raw = await openRaw(hooks.port);
  await raw.send(bytes);
  return (await raw.read()).status;
}

/** A signed delivery, with its head changed as text. */
function delivery(change: (head: string) => string): Buffer {
  const bytes = requestBytes(rawRequest(payment("evt-1"), {}));
  const end = bytes.indexOf("\r\n\r\n");
  return Buffer.concat([Buffer.from(change(bytes.subarray(0, end).toString("latin1")), "latin1"), bytes.subarray(end)]);
}

test.each<[string, (head: string) => string]>([
  ["a length and chunks", (head) => `${head}\r\nTransfer-Encoding: chunked`],
  ["two lengths", (head) => `${head}\r\nContent-Length: 0`],
  ["lines that end without CR", (head) => head.replaceAll("\r\n", "\n")],
  ["no host", (head) => head.replace(/\r\nhost:[^\r]*/iu, "")],
])("%s in a signed delivery is 400, and nothing of it is kept", async (_name, change) => {
  expect(delivery(change)).not.toEqual(delivery((head) => head));
  expect(await statusOf(delivery(change))).toBe(400);
  expect(await hooks.receipts()).toBe(0);
  expect(await statusOf(delivery((head) => head))).toBe(200);
});

test("headers that never end are cut off, while others are served", async () => {
  await using slow = await openRaw(hooks.port);
  await slow.send("POST /hooks/stripe HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
  expect(await statusOf(delivery((head) => head))).toBe(200);
  expect((await slow.read()).status).toBe(408);
});
