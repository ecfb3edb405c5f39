import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { openApp, orderApp, payment, secret, temporaryDatabase } from "../support/order-app.ts";

type Headers = Readonly<Record<string, string>>;

/** What senders and proxies get wrong, each with what the refusal must be called. */
const mistakes: Readonly<Record<string, (signed: Headers, body: string) => readonly [Headers, string]>> = {
  mismatch: (headers, body) => [headers, body.replace("eur", "usd")],
  malformed: (headers, body) => [{ ...headers, "stripe-signature": "canary" }, body],
  missing: ({ "content-type": type = "" }, body) => [{ "content-type": type }, body],
};

test("each refusal keeps its cause and safe facts, never the secret, the signature or the body", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const clock = new VirtualClock({ wallMs: Date.now() });
  const { app } = stack.use(await openApp(orderApp(address, { clock, limits: { refusalsKept: 20 } })));
  const { headers, body } = payment("evt_1", "canary-order");
  const text = Buffer.from(body).toString();
  const post = async (sent: Headers, bytes: string): Promise<number> =>
    (await app.fetch(new Request("http://localhost/hooks/stripe", { method: "POST", headers: sent, body: bytes })))
      .status;

  for (const mistake of Object.values(mistakes)) expect(await post(...mistake(headers, text))).toBe(401);
  clock.advance(10 * 60_000);
  expect(await post(headers, text)).toBe(401);
  clock.advance(1_000);
  const operator = app.operator({ who: "ada" });
  const refusals = await eventually(async () => {
    const found = await operator.refusals();
    return found.length === 4 && found;
  });
  const causes = refusals.map(({ cause }) => cause);
  expect(new Set(causes).size).toBe(4);
  expect(causes[0]).toMatch(/expired|past|old/);
  const facts = refusals.map(({ facts: kept }) => JSON.parse(kept) as Record<string, unknown>);
  for (const kept of facts) {
    expect(kept).toMatchObject({
      bodyBytes: expect.any(Number),
      bodySha256: expect.stringMatching(/^[0-9a-f]{12}$/),
      secretIds: [expect.any(String)],
    });
  }
  expect(facts[0]).toMatchObject({ skewMs: expect.any(Number), allowedMs: 300_000 });
  const kept = JSON.stringify(refusals);
  for (const leak of ["canary", secret, headers["stripe-signature"]?.split("v1=")[1] ?? "no signature"]) {
    expect(kept).not.toContain(leak);
  }
  expect((await operator.status()).receipts).toEqual({});

  for (let round = 0; round < 3; round += 1) {
    for (let count = 0; count < 15; count += 1) await post({ "content-type": "application/json" }, "{}");
    clock.advance(1_000);
    await eventually(async () => (await operator.refusals()).length >= Math.min(20, 4 + 15 * (round + 1)));
  }
  expect(await operator.refusals({ limit: 500 })).toHaveLength(20);
});
