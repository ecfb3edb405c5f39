/** The table of answers, over real HTTP: what each delivery is told, and what is kept of it. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openRaw, requestBytes } from "../../src/testing/raw-http.ts";
import { type HooksServer, rawRequest, startHooks } from "../support/hooks-server.ts";
import { payment } from "../support/order-app.ts";

let hooks: HooksServer;
beforeEach(async () => {
  hooks = await startHooks({ limits: { bodyBytes: 2_048 } });
});
afterEach(() => hooks[Symbol.asyncDispose]());

async function told(answer: Promise<{ readonly status: number; readonly body: Buffer }>): Promise<unknown> {
  const { status, body } = await answer;
  return { status, ...(JSON.parse(body.toString()) as object) };
}

describe("a verified delivery", () => {
  test("is answered 200 with its outcome, and so is every copy", async () => {
    expect(await told(hooks.post(payment("evt-1")))).toEqual({ status: 200, outcome: "applied", event: "evt-1" });
    const copy = { status: 200, outcome: "duplicate", first: "applied", event: "evt-1" };
    expect(await told(hooks.post(payment("evt-1")))).toEqual(copy);
    expect(await hooks.receipts()).toBe(1);
  });

  test("is answered 202 while something is owed for it", async () => {
    expect(await told(hooks.post(payment("evt-1", "order-9")))).toEqual({
      status: 202,
      outcome: "parked",
      event: "evt-1",
    });
    const copy = { status: 202, outcome: "duplicate", first: "parked", event: "evt-1" };
    expect(await told(hooks.post(payment("evt-1", "order-9")))).toEqual(copy);
  });

  test("with other content under a known id is recorded beside it and changes nothing", async () => {
    await hooks.post(payment("evt-1"));
    const other = payment("evt-1", "order-1", { note: "other content" });
    expect(await told(hooks.post(other))).toEqual({
      status: 202,
      outcome: "duplicate",
      first: "applied",
      mismatch: true,
      event: "evt-1",
    });
    expect(await hooks.receipts()).toBe(1);
    expect(await hooks.app.operator({ who: "test" }).status()).toMatchObject({ mismatches: 1 });
  });
});

describe("what is refused leaves nothing", () => {
  const refusals: readonly [string, number, string, Parameters<HooksServer["post"]>[1]][] = [
    ["an unknown connection", 404, "UNKNOWN_CONNECTION", { path: "/hooks/nobody" }],
    ["a method other than POST", 405, "METHOD_REFUSED", { method: "PUT" }],
    [
      "another content type",
      415,
      "MEDIA_TYPE_REFUSED",
      {
        headers: [
          ["content-type", undefined],
          ["content-type", "application/x-www-form-urlencoded"],
        ],
      },
    ],
    [
      "another charset",
      415,
      "MEDIA_TYPE_REFUSED",
      {
        headers: [
          ["content-type", undefined],
          ["content-type", "application/json; charset=utf-16"],
        ],
      },
    ],
    ["an encoding", 415, "MEDIA_TYPE_REFUSED", { headers: [["content-encoding", "gzip"]] }],
    ["a missing signature", 401, "SIGNATURE_REFUSED", { headers: [["stripe-signature", undefined]] }],
    ["a second signature header", 401, "SIGNATURE_REFUSED", { headers: [["stripe-signature", "t=1,v1=00"]] }],
  ];
  test.each(refusals)("%s is answered %i %s", async (_name, status, error, options) => {
    expect(await told(hooks.post(payment("evt-1"), options))).toEqual({ status, error });
    expect(await hooks.receipts()).toBe(0);
  });

  test("headers too many or too large are answered 431", async () => {
    const many = Array.from({ length: 200 }, (_, index) => [`x-${index}`, "a"] as const);
    const large = [["x-large", "a".repeat(20_000)]] as const;
    for (const headers of [many, large]) expect((await hooks.post(payment("evt-1"), { headers })).status).toBe(431);
    expect(await hooks.receipts()).toBe(0);
  });

  test("a changed byte is answered 401", async () => {
    const { headers, body } = payment("evt-1");
    const changed = Buffer.from(body);
    changed[changed.length - 2] = (changed.at(-2) ?? 0) ^ 1;
    expect(await told(hooks.post({ headers, body: changed }))).toEqual({ status: 401, error: "SIGNATURE_REFUSED" });
    expect(await hooks.receipts()).toBe(0);
  });

  test("the answer to an unknown method names the known one", async () => {
    const { headers } = await hooks.post(payment("evt-1"), { method: "GET" });
    expect(headers).toContainEqual(["allow", "POST"]);
  });

  test("a body at the limit is taken, one byte more is 413 and never read to its end", async () => {
    const pad = (bytes: number) => {
      const length = payment("evt-1", "order-1", { pad: "" }).body.length;
      return payment("evt-1", "order-1", { pad: "x".repeat(bytes - length) });
    };
    expect(await told(hooks.post(pad(2_049)))).toEqual({ status: 413, error: "BODY_TOO_LARGE" });
    expect(await hooks.receipts()).toBe(0);
    expect(await told(hooks.post(pad(2_048)))).toMatchObject({ status: 200, outcome: "applied" });
  });

  test("a body without Content-Length is cut at the limit", async () => {
    await using raw = await openRaw(hooks.port);
    const { headers } = payment("evt-1");
    const request = rawRequest({ headers, body: Buffer.alloc(0) }, { headers: [["transfer-encoding", "chunked"]] });
    await raw.send(requestBytes(request));
    // Never ends: the answer has to come although more could.
    await raw.send(`1000\r\n${"x".repeat(4_096)}\r\n`);
    expect(await told(raw.read())).toEqual({ status: 413, error: "BODY_TOO_LARGE" });
  });

  test("a delivery without a usable id is answered 400", async () => {
    for (const id of ["", "  ", "a".repeat(513), "a\0b", "\ud800"]) {
      expect(await told(hooks.post(payment(id)))).toEqual({ status: 400, error: "NO_EVENT_ID" });
    }
    expect(await hooks.receipts()).toBe(0);
  });
});

test("answers never hold an exception's text", async () => {
  await using failing = await startHooks({
    failing: "refuse",
    beforeOwe: () => {
      throw new Error("canary-in-the-exception");
    },
  });
  const answer = await failing.post(payment("evt-1"));
  expect(answer.status).toBe(500);
  expect(answer.body.toString()).toBe('{"error":"HANDLER_FAILED"}');
  expect(await failing.receipts()).toBe(0);
});

test("a failed handler under the policy hold is answered 202 and kept with its bytes", async () => {
  let fail = true;
  await using holding = await startHooks({
    beforeOwe: () => {
      if (fail) throw new Error("injected");
    },
  });
  expect(await told(holding.post(payment("evt-1")))).toEqual({ status: 202, outcome: "held", event: "evt-1" });
  const [receipt] = await holding.app.runtime.store.reader.receipts({}, { limit: 1 });
  expect(receipt).toMatchObject({ outcome: "held", tries: 1, reason: expect.stringContaining("HANDLER_FAILED") });
  fail = false;
  const operator = holding.app.operator({ who: "test" });
  await operator.apply({ receiptId: receipt?.id ?? 0 });
  expect((await operator.status()).receipts).toEqual({ applied: 1 });
});

test("health is told beside the hooks", async () => {
  const paths = ["/health/live", "/health/ready"];
  const statuses = await Promise.all(
    paths.map(async (path) => (await hooks.post(payment("x"), { path, method: "GET" })).status),
  );
  expect(statuses).toEqual([200, 200]);
});
