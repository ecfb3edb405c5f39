/** Hooks where there is no server of one's own: route handlers of Next.js, and AWS Lambda. */
import type { FetchHandler, LambdaEvent } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { type HooksServer, startHooks } from "../support/hooks-server.ts";
import { payment } from "../support/order-app.ts";

let hooks: HooksServer;
beforeEach(async () => {
  hooks = await startHooks();
});
afterEach(() => hooks[Symbol.asyncDispose]());

describe("a route handler of Next.js", () => {
  /** As Next.js calls what `route.ts` exports: with a request, and a context that holds the dynamic segments. */
  const call = async (handler: (request: Request, context: object) => Promise<Response>): Promise<string> => {
    const { headers, body } = payment("evt-1");
    const request = new Request("http://localhost/hooks/stripe", {
      method: "POST",
      headers,
      body: Buffer.from(body),
    });
    const response = await handler(request, { params: Promise.resolve({ connection: "stripe" }) });
    return `${response.status} ${await response.text()}`;
  };

  test("is app.fetch itself, which ignores the second argument", async () => {
    const { fetch: POST }: { readonly fetch: FetchHandler } = hooks.app;
    expect(await call(POST)).toBe('200 {"outcome":"applied","event":"evt-1"}');
  });

  test("that reads the body first is named, and nothing is kept", async () => {
    const POST = async (request: Request): Promise<Response> => {
      await request.json();
      return hooks.app.fetch(request);
    };
    expect(await call(POST)).toBe('500 {"error":"BODY_ALREADY_READ"}');
    expect(await hooks.receipts()).toBe(0);
  });

  test("leaves nothing for after the answer: what is owed is worked off by drain, in the time that it is given", async () => {
    await call(hooks.app.fetch);
    const obligations = await hooks.app.operator({ who: "test" }).obligations();
    expect(obligations).toMatchObject([{ state: "owed", tries: 0 }]);
    await hooks.app.drain({ budget: "5s" });
    await eventually(async () => (await hooks.app.operator({ who: "test" }).obligations())[0]?.tries === 1);
  });
});

describe("AWS Lambda", () => {
  const bytes = ({ body }: SignedDelivery): Buffer => Buffer.from(body);

  const unread = { routeKey: "$default", cookies: [], stageVariables: null };

  /** An event of payload format 2.0, as the documentation has it, with the fields that are not read. */
  const eventOf = (delivery: SignedDelivery, more: Partial<LambdaEvent>): LambdaEvent => ({
    version: "2.0",
    ...unread,
    rawPath: "/hooks/stripe",
    rawQueryString: "",
    headers: { ...delivery.headers, "x-forwarded-for": "192.0.2.1", host: "id.execute-api.example" },
    requestContext: { http: { method: "POST" } },
    isBase64Encoded: false,
    ...more,
  });

  test("the body is decoded where the gateway encoded it: the bytes are those that were signed", async () => {
    const delivery = payment("evt-1", "order-1", { name: "Zoë" });
    const encoded = eventOf(delivery, { body: bytes(delivery).toString("base64"), isBase64Encoded: true });
    const answer = { statusCode: 200, headers: { "content-type": "application/json" } };
    expect(await hooks.app.lambda(encoded)).toEqual({ ...answer, body: '{"outcome":"applied","event":"evt-1"}' });
    const plain = eventOf(delivery, { body: bytes(delivery).toString(), rawQueryString: "a=1" });
    expect(await hooks.app.lambda(plain)).toEqual({
      ...answer,
      body: '{"outcome":"duplicate","first":"applied","event":"evt-1"}',
    });
    const [receipt] = await hooks.app.operator({ who: "test" }).receipts();
    const kept = await hooks.app.operator({ who: "test" }).payload(receipt?.id ?? 0);
    expect(Buffer.from(kept.bytes)).toEqual(bytes(delivery));
  });

  test("a body that only looks like base64 is taken as it is", async () => {
    const delivery = payment("evt-1");
    const looksEncoded = eventOf(delivery, { body: bytes(delivery).toString("base64") });
    expect(await hooks.app.lambda(looksEncoded)).toMatchObject({ statusCode: 401 });
  });

  test("headers are found in any case, and what is no hook, too large or without a body is answered as elsewhere", async () => {
    const delivery = payment("evt-1");
    const upper = Object.fromEntries(
      Object.entries(delivery.headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    const body = bytes(delivery).toString();
    const ask = async (more: Partial<LambdaEvent>): Promise<number> =>
      (await hooks.app.lambda(eventOf(delivery, { body, ...more }))).statusCode;
    expect(await ask({ headers: upper })).toBe(200);
    expect(await ask({ rawPath: "/other" })).toBe(404);
    expect(await ask({ rawPath: "/hooks/nobody" })).toBe(404);
    expect(await ask({ requestContext: { http: { method: "GET" } } })).toBe(405);
    expect(await ask({ body: "x".repeat(1024 * 1024 + 1) })).toBe(413);
    expect(await ask({ headers: { ...delivery.headers, pad: "x".repeat(17_000) } })).toBe(431);
    expect((await hooks.app.lambda(eventOf(delivery, {}))).statusCode).toBe(401);
  });

  test("an event of another format is named with what to change", async () => {
    const event = { version: "1.0", path: "/hooks/stripe", httpMethod: "POST" } as unknown as LambdaEvent;
    await expect(hooks.app.lambda(event)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("set its payload format to 2.0"),
    });
  });
});
