import { describe, expect, test } from "vitest";
import { body, bodyOnly, pairs, secret, sentAtMs, token, versions } from "../../test/kit/signing.ts";
import type { Ed25519Scheme } from "./scheme.ts";
import { canSign, sign } from "./sign.ts";

describe("sign()", () => {
  test("writes each grammar's headers", () => {
    const input = { body, timestampMs: sentAtMs + 999, headers: { "X-ID": "msg_1" } };
    expect(sign(bodyOnly, secret, input)).toEqual({ "x-signature": expect.stringMatching(/^sha256=[0-9a-f]{64}$/) });
    expect(sign(pairs, secret, input)).toEqual({
      "x-signature": expect.stringMatching(/^t=1767225600,v1=[0-9a-f]{64}$/),
    });
    expect(sign(versions, secret, input)).toEqual({
      "x-id": "msg_1",
      "x-timestamp": "1767225600",
      "x-signature": expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    });
    expect(sign(token, secret, input)).toEqual({ authorization: `Bearer ${secret}` });
  });

  test("refuses to sign without a header that the signature covers", () => {
    expect(() => sign(versions, secret, { body, timestampMs: 0 })).toThrow('the signature covers header "x-id"');
  });

  test("refuses a key of another form, without showing it", () => {
    const key = { from: "base64", prefix: "whsk_" } as const;
    const scheme: Ed25519Scheme = { ...bodyOnly, kind: "ed25519", key, signingKey: key };
    const wrong = `whsk_${Buffer.alloc(33, 1).toString("base64")}`;
    const attempt = (): unknown => sign(scheme, wrong, { body, timestampMs: 0 });
    expect(attempt).toThrow(TypeError);
    expect(attempt).not.toThrow(wrong);
    expect([canSign(scheme, wrong), canSign(scheme, secret), canSign(bodyOnly, secret)]).toEqual([false, false, true]);
  });
});
