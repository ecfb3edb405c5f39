import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { bodyOnly, token } from "../../test/kit/signing.ts";
import { checkSecrets } from "./check-secrets.ts";
import { openKeyring, secretId } from "./keyring.ts";
import type { Ed25519Scheme, HmacScheme, Scheme } from "./scheme.ts";

describe("checkSecrets()", () => {
  test.each([
    [[], "none"],
    [[undefined, undefined], "none"],
    [[""], "blank"],
    [["   "], "blank"],
    [["\n\t"], "blank"],
    [["undefined"], "placeholder"],
    [["null"], "placeholder"],
    [["changeme"], "placeholder"],
    [[" ChangeMe "], "placeholder"],
    [["your-webhook-secret"], "placeholder"],
    [["[object Object]"], "placeholder"],
    [["${STRIPE_SECRET}"], "placeholder"],
    [["{{ secret }}"], "placeholder"],
    [["<your secret>"], "placeholder"],
    [["xxxxxxxxxxxx"], "placeholder"],
    [["whsec_xxxxxxxx"], "placeholder"],
    [["whsec_"], "placeholder"],
    [["whsec_..."], "placeholder"],
    [["7 bytes"], "too_short"],
    [["a good secret", ""], "blank"],
    [["a good secret", "null"], "placeholder"],
    [Array.from({ length: 17 }, (_each, index) => `a good secret ${index}`), "too_many"],
  ])("finds %j unusable: %s", (secrets, cause) => {
    expect(checkSecrets(secrets)).toMatchObject({ kind: "unusable", cause });
  });

  test("skips what is undefined and keeps the rest as it is", () => {
    const secrets = [undefined, " a secret with spaces ", undefined, "8 bytes!"];
    expect(checkSecrets(secrets)).toEqual({ kind: "usable", secrets: [" a secret with spaces ", "8 bytes!"] });
  });

  test("names the position of a bad secret and not its content", () => {
    const problem = checkSecrets([undefined, "a good secret", "7 bytes"]);
    expect(problem).toMatchObject({ message: "Cannot use secret 3: it has 7 bytes, needed are 8; set a longer one" });
  });
});

describe("openKeyring()", () => {
  const base64: HmacScheme = { ...bodyOnly, key: { from: "base64", prefix: "whsec_" } };
  const hex: HmacScheme = { ...bodyOnly, key: { from: "hex" } };
  const ed25519: Ed25519Scheme = {
    ...base64,
    kind: "ed25519",
    key: { from: "base64", prefix: "whpk_" },
    signingKey: { from: "base64", prefix: "whsk_" },
  };

  test.each<readonly [string, Scheme, string]>([
    ["no prefix", base64, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ["not base64", base64, "whsec_not base64 at all"],
    ["a key under 8 bytes", base64, "whsec_AAAAAAA="],
    ["half a hex byte", hex, "abcdef0123456789a"],
    ["a public key of 31 bytes", ed25519, `whpk_${Buffer.alloc(31, 7).toString("base64")}`],
    ["a private key where the public one belongs", ed25519, `whsk_${Buffer.alloc(32, 7).toString("base64")}`],
  ])("refuses %s", (_what, scheme, secret) => {
    const keyring = openKeyring([scheme], [undefined, secret]);
    expect(keyring).toMatchObject({ kind: "unusable", cause: "undecodable" });
    expect(JSON.stringify(keyring)).toContain("secret 2");
    expect(JSON.stringify(keyring)).not.toContain(secret);
  });

  test("says which forms this provider's secrets have", () => {
    const keyring = openKeyring([base64, ed25519], ["a secret of no form"]);
    expect(keyring).toMatchObject({
      message:
        'Cannot use secret 1: it is not of the form that this provider\'s secrets have ("whsec_" and base64, or "whpk_" and base64)',
    });
  });

  test("takes base64 keys with and without their padding as one key", () => {
    const keys = ["whsec_AAECAwQFBgcICQ==", "whsec_AAECAwQFBgcICQ"].map((secret) => {
      const keyring = openKeyring([base64], [secret]);
      return keyring.kind === "usable" ? keyring.entries[0]?.keys[0]?.key : undefined;
    });
    expect(keys[0]).toBeDefined();
    expect(keys[0]).toEqual(keys[1]);
  });

  test("fails on any bad secret, so that a typo in a rotation is seen at the start", () => {
    expect(openKeyring([base64], ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!"]).kind).toBe("unusable");
    expect(openKeyring([token], [""]).kind).toBe("unusable");
  });

  test("names secrets the same in any list, and differently from each other", () => {
    const ids = (...secrets: readonly string[]): readonly string[] => {
      const keyring = openKeyring([bodyOnly], secrets);
      return keyring.kind === "usable" ? keyring.secretIds : [];
    };
    const [first, second] = ["the first secret", "the second secret"];
    expect(ids(first, second)).toEqual([secretId(first), secretId(second)]);
    expect(ids(second)).toEqual([secretId(second)]);
    expect(secretId(first)).toMatch(/^[0-9a-f]{8}$/);
    expect(secretId(first)).not.toBe(secretId(second));
  });
});

test("a keyring that is printed, serialised or copied gives away no key", () => {
  const keyring = openKeyring([bodyOnly, token], ["a secret to be kept"]);
  if (keyring.kind === "unusable") throw new Error(keyring.message);
  expect(keyring.entries.map(({ keys }) => keys.length)).toEqual([1, 1]);
  const ids = `{"kind":"usable","secretIds":["${secretId("a secret to be kept")}"]}`;
  expect(JSON.stringify(keyring)).toBe(ids);
  expect(JSON.stringify({ ...keyring })).toBe(ids);
  expect(inspect(keyring, { depth: null, showHidden: true })).not.toMatch(/Uint8Array|Buffer|KeyObject/);
});
