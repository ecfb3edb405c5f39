import { describe, expect, test } from "vitest";
import { bodyPlan } from "../parse/body-plan.ts";
import { parseBody } from "../parse/parse-body.ts";
import { headersFromFetch, headersFromRaw, type DeliveryHeaders } from "../verify/delivery-headers.ts";
import { authenticatedBy } from "../verify/scheme.ts";
import { generic } from "./generic.ts";
import { github } from "./github.ts";
import { identify, type Identity } from "./identify.ts";
import type { IdentityRule } from "./provider-spec.ts";
import type { ProviderData } from "./provider.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";

function read(
  provider: ProviderData,
  body: string | Uint8Array,
  headers: readonly string[] | DeliveryHeaders = [],
): Identity {
  return identify(provider.rules, {
    headers: "get" in headers ? headers : headersFromRaw(headers),
    body: parseBody(Buffer.from(body as string), provider.plan),
    authenticated: authenticatedBy(provider.rules.schemes[0]),
  });
}

function providerOf(identity: IdentityRule): ProviderData {
  return generic({ signature: { kind: "hmac", header: "x-signature" }, identity });
}

const byBody = providerOf({ id: { from: "body", path: ["id"] }, type: { from: "fixed", text: "event" } });
const byHeader = providerOf({ id: { from: "header", name: "X-Id" }, type: { from: "fixed", text: "event" } });

describe("identify() of the presets", () => {
  test("reads a Stripe event from its signed body", () => {
    const body =
      '{"id":"evt_1","type":"charge.refunded","account":"acct_1","livemode":true,"data":{"object":{"id":"ch_1"}}}';
    expect(read(stripe, body)).toEqual({
      kind: "identified",
      id: "evt_1",
      type: "charge.refunded",
      account: "acct_1",
      mode: "live",
      signed: { id: true, type: true, account: true },
    });
  });

  test.each([
    ['"livemode":true', "live"],
    ['"livemode":false', "test"],
    ['"livemode":"false"', undefined],
    ['"livemode":null', undefined],
    ['"x":1', undefined],
  ])("reads the mode of a Stripe event with %s as %s", (field, mode) => {
    expect(read(stripe, `{"id":"evt_1","type":"t",${field}}`)).toMatchObject({ kind: "identified", mode });
  });

  test("takes Stripe's context where there is no account, and neither for the platform itself", () => {
    const account = (fields: string): unknown => read(stripe, `{"id":"evt_1","type":"t"${fields}}`);
    expect(account(',"context":"acct_2"')).toMatchObject({ account: "acct_2" });
    expect(account(',"account":"acct_1","context":"acct_2"')).toMatchObject({ account: "acct_1" });
    expect(account(',"account":null')).toMatchObject({ account: "" });
    expect(account("")).toMatchObject({ account: "" });
  });

  test("reads a GitHub event from headers that nothing signs", () => {
    const headers = ["X-GitHub-Delivery", "72d3162e", "X-GitHub-Event", "push"];
    expect(read(github, '{"ref":"refs/heads/main","installation":{"id":12345678901234567890}}', headers)).toEqual({
      kind: "identified",
      id: "72d3162e",
      type: "push",
      account: "12345678901234567890",
      mode: undefined,
      signed: { id: false, type: false, account: true },
    });
  });

  test("takes GitHub's ping for an ordinary event", () => {
    const headers = ["X-GitHub-Delivery", "1", "X-GitHub-Event", "ping"];
    expect(read(github, '{"zen":"x","hook_id":1}', headers)).toMatchObject({ kind: "identified", type: "ping" });
  });

  test("reads a Standard Webhooks event, whose id header is signed", () => {
    const identity = read(standardWebhooks, '{"type":"contact.created","data":{"id":"c_1"}}', ["webhook-id", "msg_1"]);
    expect(identity).toMatchObject({
      id: "msg_1",
      type: "contact.created",
      signed: { id: true, type: true },
    });
  });
});

describe("identify() of ids", () => {
  test.each([
    ['{"id":"evt_1"}', "evt_1"],
    ['{"id":" evt 1 "}', " evt 1 "],
    ['{"id":15793596808644609}', "15793596808644609"],
    ['{"id":0}', "0"],
    ['{"id":-7}', "-7"],
    [String.raw`{"id":"\u0065vt_1"}`, "evt_1"],
    [JSON.stringify({ id: "é".repeat(256) }), "é".repeat(256)],
    [JSON.stringify({ id: "😀" }), "😀"],
  ])("of %s gives exactly %j", (body, id) => {
    expect(read(byBody, body)).toMatchObject({ kind: "identified", id });
  });

  test.each([
    ["{}", "missing"],
    ['{"id":null}', "missing"],
    ["[]", "missing"],
    ["null", "missing"],
    ['{"ID":"evt_1"}', "missing"],
    ['{"id":""}', "blank"],
    ['{"id":" \\t "}', "blank"],
    ['{"id":true}', "wrong_type"],
    ['{"id":{"id":"evt_1"}}', "wrong_type"],
    ['{"id":["evt_1"]}', "wrong_type"],
    ['{"id":1.5}', "wrong_type"],
    ['{"id":1.0}', "wrong_type"],
    ['{"id":1e3}', "wrong_type"],
    ['{"id":-0}', "wrong_type"],
    ['{"id":"evt_1","id":"evt_1"}', "repeated"],
    ['{"id":"evt_1","id":"evt_2"}', "repeated"],
    [String.raw`{"id":"evt_1","i\u0064":"evt_2"}`, "repeated"],
    [JSON.stringify({ id: "a".repeat(513) }), "too_long"],
    [JSON.stringify({ id: "é".repeat(257) }), "too_long"],
    [String.raw`{"id":"a\u0000b"}`, "nul"],
    [String.raw`{"id":"\ud800"}`, "lone_surrogate"],
    [String.raw`{"id":"\udc00\ud800"}`, "lone_surrogate"],
  ])("of %s finds none that is usable: %s", (body, cause) => {
    expect(read(byBody, body)).toEqual({ kind: "no_usable_id", cause });
  });

  test.each([
    [["x-id", "1"], "identified", undefined],
    [[], "no_usable_id", "missing"],
    [["x-id", " "], "no_usable_id", "blank"],
    [["x-id", "1", "X-ID", "1"], "no_usable_id", "repeated"],
    [["x-id", "1, 2"], "no_usable_id", "repeated"],
    [["x-id", "a".repeat(513)], "no_usable_id", "too_long"],
  ])("from headers %j is %s %s", (headers, kind, cause) => {
    expect(read(byHeader, "{}", headers)).toMatchObject(cause === undefined ? { kind } : { kind, cause });
  });

  test("from headers that fetch merged is refused", () => {
    const merged = new Headers({ "x-id": "1" });
    merged.append("x-id", "2");
    expect(read(byHeader, "{}", headersFromFetch(merged))).toEqual({ kind: "no_usable_id", cause: "repeated" });
  });

  test("is derived of its parts where the provider sends none, and differs with each part", () => {
    const derived = providerOf({
      id: {
        from: "derived",
        parts: [
          { from: "body", path: ["event"] },
          { from: "body", path: ["ts"] },
          { from: "header", name: "x-n" },
        ],
      },
      type: { from: "body", path: ["event"] },
    });
    const idOf = (body: string, headers: readonly string[] = []): unknown => {
      const identity = read(derived, body, headers);
      return identity.kind === "identified" ? identity.id : identity;
    };
    const ids = [
      idOf('{"event":"a","ts":12345678901234567890}'),
      idOf('{"event":"a","ts":12345678901234567891}'),
      idOf('{"event":"a"}'),
      idOf('{"event":"a"}', ["x-n", "1"]),
      idOf('{"event":"a,1"}'),
      idOf('{"event":"b"}'),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^derived:[0-9a-f]{64}$/.test(String(id)))).toBe(true);
    expect(idOf('{ "ts":12345678901234567890, "event":"a" }')).toBe(ids[0]);
    expect(idOf("{}")).toEqual({ kind: "no_usable_id", cause: "missing" });
    expect(idOf('{"event":"a","event":"b"}')).toEqual({ kind: "no_usable_id", cause: "repeated" });
  });
});

describe("identify() of what cannot be applied", () => {
  test.each([
    ['{"id":"evt_1","type":"a","type":"b"}', "type_repeated"],
    ['{"id":"evt_1"}', "type_missing"],
    ['{"id":"evt_1","type":7.5}', "type_wrong_type"],
    [String.raw`{"id":"evt_1","type":"a\u0000"}`, "type_nul"],
    ['{"id":"evt_1","type":"a","account":"x","account":"y"}', "account_repeated"],
    ['{"id":"evt_1","type":"a","account":{}}', "account_wrong_type"],
    ['{"id":"evt_1","type":"a","account":""}', "account_blank"],
    ['{"id":"evt_1","type":"a","livemode":true,"livemode":false}', "mode_repeated"],
  ])("quarantines %s under its id: %s", (body, cause) => {
    expect(read(stripe, body)).toMatchObject({ kind: "quarantined", id: "evt_1", cause });
  });

  test("refuses rather than quarantines what has no usable id", () => {
    expect(read(stripe, '{"id":"a","id":"b","type":"x","type":"y"}')).toEqual({
      kind: "no_usable_id",
      cause: "repeated",
    });
  });

  const broken = Uint8Array.from([0x7b, 0xc3, 0x28, 0x7d]);

  test("quarantines an unreadable body under the id that a header gives", () => {
    const headers = ["X-GitHub-Delivery", "72d3162e", "X-GitHub-Event", "push"];
    expect(read(github, broken, headers)).toEqual({
      kind: "quarantined",
      cause: "invalid_utf8",
      id: "72d3162e",
      type: "push",
      account: "",
      signed: { id: false, type: false, account: true },
    });
    expect(read(github, broken)).toEqual({ kind: "no_usable_id", cause: "missing" });
  });

  test("quarantines an unreadable body under its digest where the body hides the id", () => {
    const first = read(stripe, broken);
    expect(first).toMatchObject({ kind: "quarantined", cause: "invalid_utf8", type: "", account: "" });
    expect(first).toMatchObject({ id: expect.stringMatching(/^unreadable:[0-9a-f]{64}$/) });
    expect(read(stripe, broken)).toEqual(first);
    expect(read(stripe, "{")).not.toMatchObject({ id: (first as { readonly id: string }).id });
  });
});

test("a token authenticates no field, and a fixed type needs none", () => {
  const identity = { id: { from: "body", path: ["id"] }, type: { from: "fixed", text: "event" } } as const;
  const byToken = generic({ signature: { kind: "token", header: "x-token" }, identity });
  expect(read(byToken, '{"id":"1"}')).toMatchObject({ signed: { id: false, type: true, account: true } });
});

test("a plan of one's own may watch more than identity does", () => {
  const body = parseBody(
    Buffer.from('{"id":"1","revision":1,"revision":2}'),
    bodyPlan({ watch: [["id"], ["revision"]] }),
  );
  expect(body.kind === "parsed" && body.isRepeated(["revision"])).toBe(true);
});
