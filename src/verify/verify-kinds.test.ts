import { generateKeyPairSync, hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  sentAtMs,
  secret,
  otherSecret,
  bodyOnly,
  pairs,
  versions,
  token,
  schemes,
  keyringFor,
  signed,
  judge,
  causeOf,
  body,
} from "../../test/kit/signing.ts";
import { secretId } from "./keyring.ts";
import type { HmacScheme, Scheme } from "./scheme.ts";

describe("verify() of several signatures", () => {
  const good = signed(pairs, body)["x-signature"] ?? "";
  const [time = "", match = ""] = good.split(",");
  const wrong = `v1=${"0".repeat(64)}`;
  const keyring = keyringFor(pairs, secret);
  const judgeValue = (value: string): string => causeOf(keyring, { headers: { "x-signature": value }, body });

  test.each([
    ["first", [match, wrong]],
    ["last", [wrong, match]],
    ["between other versions", ["v0=00", match, "v2=zz"]],
    ["after malformed ones", ["v1=junk", "v1=", match]],
  ])("finds the right one %s", (_where, entries) => {
    expect(judgeValue([time, ...entries].join(","))).toBe("verified");
  });

  test("tries 16 and refuses 17, of whatever version", () => {
    const filler = Array.from({ length: 15 }, () => wrong);
    expect(judgeValue([time, ...filler, match].join(","))).toBe("verified");
    expect(judgeValue([time, ...filler, match, "v0=1"].join(","))).toBe("too_many_signatures");
    expect(judgeValue([time, ...filler, wrong, match].join(","))).toBe("too_many_signatures");
  });

  test("refuses when only other versions or malformed ones are there", () => {
    expect(judgeValue([time, "v0=1", "v2=2"].join(","))).toBe("malformed_signature");
    expect(judgeValue(time)).toBe("malformed_signature");
  });

  test("reads signatures from any of several headers", () => {
    const two: HmacScheme = { ...bodyOnly, headers: ["x-primary", "x-secondary"] };
    const value = signed(bodyOnly, body)["x-signature"] ?? "";
    const nothing = `sha256=${"0".repeat(64)}`;
    for (const headers of [
      { "x-primary": value },
      { "x-secondary": value },
      { "x-primary": nothing, "x-secondary": value },
    ]) {
      expect(causeOf(keyringFor(two, secret), { headers, body })).toBe("verified");
    }
  });
});

describe("verify() of Ed25519", () => {
  const pair = generateKeyPairSync("ed25519");
  const seed = Buffer.from(pair.privateKey.export({ format: "jwk" }).d ?? "", "base64url");
  const publicKey = Buffer.from(pair.publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  const scheme: Scheme = {
    ...versions,
    kind: "ed25519",
    grammar: { kind: "versions", version: "v1a" },
    key: { from: "base64", prefix: "whpk_" },
    signingKey: { from: "base64", prefix: "whsk_" },
  };
  const configured = `whpk_${publicKey.toString("base64")}`;
  const both = [{ ...versions, key: { from: "base64", prefix: "whsec_" } } as const, scheme];

  test("accepts a signature by the seed, alone or with the public key after it", () => {
    for (const key of [seed, Buffer.concat([seed, publicKey])]) {
      const headers = signed(scheme, body, `whsk_${key.toString("base64")}`);
      expect(judge(keyringFor(both, configured), { headers, body })).toMatchObject({
        kind: "verified",
        secretId: secretId(configured),
      });
      expect(causeOf(keyringFor(both, configured), { headers, body: Buffer.from("{}") })).toBe("signature_mismatch");
    }
  });

  test("never takes the public key for an HMAC key", () => {
    const text = [{ ...versions, key: { from: "utf8" } } as const, scheme];
    const forged = signed({ ...versions, key: { from: "utf8" } }, body, configured);
    expect(causeOf(keyringFor(text, configured), { headers: forged, body })).toBe("malformed_signature");
    expect(causeOf(keyringFor(text, configured, secret), { headers: signed(versions, body), body })).toBe("verified");
  });

  test("lets the secret choose the version: under an HMAC secret v1a counts for nothing", () => {
    const headers = signed(scheme, body, `whsk_${seed.toString("base64")}`);
    expect(causeOf(keyringFor(both, `whsec_${seed.toString("base64")}`), { headers, body })).toBe(
      "malformed_signature",
    );
  });
});

describe("verify() of a token", () => {
  const keyring = keyringFor(token, secret, otherSecret);

  test("accepts the tokens it has and authenticates nothing but the sender", () => {
    const verdict = judge(keyring, { headers: { Authorization: `Bearer ${otherSecret}` }, body });
    expect(verdict).toMatchObject({
      kind: "verified",
      secretId: secretId(otherSecret),
      authenticated: { body: false, timestamp: false, headers: [] },
    });
  });

  test.each([
    ["", "missing_signature"],
    ["Bearer ", "signature_mismatch"],
    [`Bearer ${secret.slice(0, -1)}`, "signature_mismatch"],
    [`Bearer ${secret}x`, "signature_mismatch"],
    [secret, "malformed_signature"],
    [`bearer ${secret}`, "malformed_signature"],
    [`Bearer ${secret}, Bearer ${secret}`, "signature_mismatch"],
  ])("refuses %j", (value, expected) => {
    expect(causeOf(keyring, { headers: { authorization: value }, body })).toBe(expected);
  });

  test("refuses a token sent twice", () => {
    const headers = ["authorization", `Bearer ${secret}`, "Authorization", `Bearer ${secret}`];
    expect(causeOf(keyring, { headers, body })).toBe("ambiguous_header");
  });
});

describe("what a verdict tells", () => {
  test("is the refusal that got furthest, whatever the order of the schemes", () => {
    const headers = signed(bodyOnly, body, otherSecret);
    const elsewhere: HmacScheme = { ...bodyOnly, headers: ["x-elsewhere"] };
    for (const order of [
      [bodyOnly, elsewhere],
      [elsewhere, bodyOnly],
    ]) {
      expect(causeOf(keyringFor(order, secret), { headers, body })).toBe("signature_mismatch");
    }
  });

  test("lists what each scheme's signature covers", () => {
    const covered = schemes.map(([, scheme]) =>
      judge(keyringFor(scheme, secret), { headers: signed(scheme, body), body }),
    );
    expect(covered).toMatchObject([
      { authenticated: { body: true, timestamp: false, headers: [] }, timestampMs: undefined },
      { authenticated: { body: true, timestamp: true, headers: [] }, timestampMs: sentAtMs },
      { authenticated: { body: true, timestamp: true, headers: ["x-id"] }, timestampMs: sentAtMs },
    ]);
  });

  test("keeps facts of a refusal that tell causes apart, and nothing of secret, signature or body", () => {
    const headers: Record<string, string> = {
      ...signed(pairs, body, otherSecret),
      "content-type": "application/json; charset=utf-8",
      "content-encoding": "gzip\u0001".repeat(99),
    };
    const verdict = judge(keyringFor(pairs, secret), { headers, body, arrivedAtMs: sentAtMs + 5_000 });
    expect(verdict).toEqual({
      kind: "refused",
      cause: "signature_mismatch",
      facts: {
        bodyBytes: body.length,
        bodySha256: hash("sha256", body, "hex").slice(0, 12),
        contentType: "application/json; charset=utf-8",
        contentEncoding: "(495 characters)",
        signatureChars: headers["x-signature"]?.length,
        skewMs: 5_000,
        allowedMs: undefined,
        secretIds: [secretId(secret)],
      },
    });
    const text = JSON.stringify(verdict);
    for (const hidden of [secret, "evt_1", (headers["x-signature"] ?? "").slice(-20)]) {
      expect(text).not.toContain(hidden);
    }
  });
});
