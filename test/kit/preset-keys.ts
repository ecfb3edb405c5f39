/** Secrets of the form that each preset takes, with what signs under them, for tests over all presets. */
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ProviderData } from "../../src/providers/provider.ts";
import type { FetchKey } from "../../src/verify/fetched-keys.ts";
import { openKeyring, type Keyring } from "../../src/verify/keyring.ts";
import type { Scheme } from "../../src/verify/scheme.ts";

/** What a connection is configured with, and what the sender signs with: the same, but for public keys. */
export interface PresetKey {
  readonly configured: string;
  readonly signing: string;
}

export const publicUrl = "https://hooks.example/hooks/preset";

/** Different keys for one preset, the same ones each time. */
export function presetKey({ rules }: ProviderData, number: 1 | 2 | 3): PresetKey {
  const [scheme] = rules.schemes;
  switch (scheme.kind) {
    case "ed25519":
      return made(`ed25519 ${number}`, () => rawPair(scheme.key.from === "hex" ? "hex" : "base64"));
    case "ecdsa":
      return made(`ecdsa ${number}`, pemPair);
    case "rsa":
      return { configured: `WEBHOOK-ID-${number}`, signing: `WEBHOOK-ID-${number}\n${fixture("signer-key.pem")}` };
    case "jws":
      return made(`jws ${number}`, () => jwkPair(`key-${number}`));
    case "hmac":
    case "fields":
    case "token":
      return same(sharedSecret(scheme, number));
  }
}

/** The keyring of a connection that is configured with these keys. */
export function keyringOf({ rules }: ProviderData, keys: readonly PresetKey[]): Keyring {
  const secrets = keys.map(({ configured }) => configured);
  const keyring = openKeyring(rules.schemes, secrets, { publicUrl, fetchKey: fetchFixture });
  if (keyring.kind === "unusable") throw new Error(keyring.message);
  return keyring;
}

/** The certificate of the fixtures, whatever is asked for. */
export const fetchFixture: FetchKey = () => Promise.resolve(fixture("signer.pem"));

function sharedSecret(scheme: Scheme, number: number): string {
  const key = "key" in scheme ? scheme.key : undefined;
  if (key?.from === "hex") return Buffer.alloc(32, number).toString("hex");
  const prefix = key?.from === "base64" ? (key.prefix ?? "") : "";
  return key?.from === "base64"
    ? `${prefix}${Buffer.alloc(24, number).toString("base64")}`
    : `a shared secret, ${number}`;
}

const pairs = new Map<string, PresetKey>();

function made(name: string, make: () => PresetKey): PresetKey {
  const pair = pairs.get(name) ?? make();
  pairs.set(name, pair);
  return pair;
}

function rawPair(encoding: "hex" | "base64"): PresetKey {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const end = (der: Buffer): string => der.subarray(-32).toString(encoding);
  return {
    configured: end(publicKey.export({ format: "der", type: "spki" })),
    signing: end(privateKey.export({ format: "der", type: "pkcs8" })),
  };
}

function pemPair(): PresetKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return {
    configured: publicKey.export({ format: "der", type: "spki" }).toString("base64"),
    signing: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}

function jwkPair(kid: string): PresetKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return {
    configured: JSON.stringify({ ...publicKey.export({ format: "jwk" }), kid }),
    signing: JSON.stringify({ ...privateKey.export({ format: "jwk" }), kid }),
  };
}

function same(secret: string): PresetKey {
  return { configured: secret, signing: secret };
}

function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");
}
