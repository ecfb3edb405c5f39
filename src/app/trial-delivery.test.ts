import { expect, test } from "vitest";
import { github } from "../providers/github.ts";
import { standardWebhooks } from "../providers/standard-webhooks.ts";
import { stripe } from "../providers/stripe.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { openKeyring, type Keyring } from "../verify/keyring.ts";
import { verify } from "../verify/verify.ts";
import { trialDelivery } from "./trial-delivery.ts";

const connection = "shop";
const timestampMs = Date.UTC(2026, 0, 1);
const secret = "a secret of the tests";

function accepts(keyring: ReturnType<typeof openKeyring>, delivery: ReturnType<typeof trialDelivery>): boolean {
  const headers = headersFromRaw(Object.entries(delivery.headers).flat());
  return verify(keyring as Keyring, { headers, body: delivery.body, arrivedAtMs: timestampMs }).kind === "verified";
}

test("a trial delivery is the provider's first sample, signed so that the connection accepts it", () => {
  const delivery = trialDelivery(stripe.rules, [undefined, secret], { connection, timestampMs });
  expect(accepts(openKeyring(stripe.rules.schemes, [secret]), delivery)).toBe(true);
  expect(JSON.parse(Buffer.from(delivery.body).toString())).toMatchObject({ type: "payment_intent.succeeded" });
});

test("without a type it is the first sample that the connection has a handler for, else the first", () => {
  const typeOf = (...handled: readonly string[]) =>
    trialDelivery(github.rules, [secret], { connection, timestampMs, handled: new Set(handled) }).headers[
      "x-github-event"
    ];
  expect([typeOf(), typeOf("push"), typeOf("release")]).toEqual(["ping", "push", "ping"]);
});

test("given bytes go out as they are, with id and type where the provider has them", () => {
  const body = Buffer.from('{ "ref":  "refs/heads/main" }');
  const delivery = trialDelivery(github.rules, [secret], { connection, timestampMs, body, type: "push", id: "d-1" });
  expect(Buffer.from(delivery.body).equals(body)).toBe(true);
  expect(delivery.headers).toMatchObject({ "x-github-event": "push", "x-github-delivery": "d-1" });
  expect(accepts(openKeyring(github.rules.schemes, [secret]), delivery)).toBe(true);
});

test("what cannot be made is refused with what to do", () => {
  const body = Buffer.from("{}");
  const publicKey = `whpk_${Buffer.alloc(32, 1).toString("base64")}`;
  expect(() => trialDelivery(standardWebhooks.rules, [publicKey], { connection, timestampMs })).toThrow(
    /no secret here can sign as standard-webhooks/,
  );
  expect(() => trialDelivery(github.rules, [secret], { connection, timestampMs, body })).toThrow(
    /type travels in a header; give it/,
  );
  expect(() => trialDelivery(stripe.rules, [secret], { connection, timestampMs, body, id: "evt_1" })).toThrow(
    /id stands in the body that you give/,
  );
});

test("a secret that is not set is named by its setting", () => {
  const made = (...secrets: readonly (string | undefined)[]) =>
    trialDelivery(stripe.rules, secrets, { connection, timestampMs });
  const setting = 'secrets in connect("shop", ...)';
  expect(() => made()).toThrow(`${setting} is empty; put the provider's signing secret there`);
  expect(() => made(undefined)).toThrow(`the one entry of ${setting} is not set; set the environment variable`);
  expect(() => made(undefined, " ")).toThrow(`each of the 2 entries of ${setting} is not set`);
});

test("a key that only signs serves where the connection has the public one", () => {
  const signingKey = `whsk_${Buffer.alloc(32, 1).toString("base64")}`;
  const delivery = trialDelivery(standardWebhooks.rules, [], { connection, timestampMs, secret: signingKey });
  expect(delivery.headers["webhook-signature"]).toMatch(/^v1a,/);
});
