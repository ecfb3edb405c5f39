import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  sentAtMs,
  secret,
  otherSecret,
  bodyOnly,
  schemes,
  keyringFor,
  signed,
  judge,
  causeOf,
  body,
} from "../../test/kit/signing.ts";
import { headersFromFetch } from "./delivery-headers.ts";
import { emptyKeyring, secretId, type Keyring } from "./keyring.ts";
import { verify } from "./verify.ts";

describe.each(schemes)("verify() of a signature with %s", (_name, scheme) => {
  const keyring = keyringFor(scheme, secret);

  test("accepts what the scheme's signer made and names the secret", () => {
    const verdict = judge(keyring, { headers: signed(scheme, body), body });
    expect(verdict).toMatchObject({ kind: "verified", secretId: secretId(secret) });
  });

  test("refuses the body with any one byte flipped, cut off or added", () => {
    const headers = signed(scheme, body);
    for (const at of body.keys()) {
      const flipped = Buffer.from(body);
      flipped[at] = (flipped[at] ?? 0) ^ 1;
      expect(causeOf(keyring, { headers, body: flipped })).toBe("signature_mismatch");
    }
    expect(causeOf(keyring, { headers, body: body.subarray(0, -2) })).toBe("signature_mismatch");
    expect(causeOf(keyring, { headers, body: Buffer.concat([body, Buffer.from("\n")]) })).toBe("signature_mismatch");
  });

  test("refuses every one-character change of every header it reads", () => {
    const headers = signed(scheme, body);
    for (const [name, value] of Object.entries(headers)) {
      for (let at = 0; at < value.length; at++) {
        const changed = value.slice(0, at) + String.fromCharCode(value.charCodeAt(at) ^ 1) + value.slice(at + 1);
        expect(judge(keyring, { headers: { ...headers, [name]: changed }, body }).kind).toBe("refused");
      }
    }
  });

  test("refuses when any header it reads is missing, blank or sent twice", () => {
    const headers = signed(scheme, body);
    for (const [name, value] of Object.entries(headers)) {
      const others = Object.entries(headers).filter(([other]) => other !== name);
      expect(causeOf(keyring, { headers: others.flat(), body })).toMatch(/^missing_/);
      const blank = [...others.flat(), name, "  "];
      expect(causeOf(keyring, { headers: blank, body })).toMatch(/^missing_|^timestamp_malformed$/);
      const twice = [...others.flat(), name, value, name.toUpperCase(), value];
      expect(causeOf(keyring, { headers: twice, body })).toBe("ambiguous_header");
    }
  });

  test("refuses headers that fetch merged", () => {
    for (const name of Object.keys(signed(scheme, body))) {
      const headers = new Headers(signed(scheme, body));
      headers.append(name, headers.get(name) ?? "");
      const verdict = verify(keyring, { headers: headersFromFetch(headers), body, arrivedAtMs: sentAtMs });
      expect(verdict.kind).toBe("refused");
    }
  });

  test("reads header names in any case", () => {
    const shouted = Object.entries(signed(scheme, body)).flatMap(([name, value]) => [name.toUpperCase(), value]);
    expect(judge(keyring, { headers: shouted, body }).kind).toBe("verified");
  });

  test("never throws and never accepts junk of any length", () => {
    const lengths = [...Array.from({ length: 200 }, (_each, length) => length), 8_191, 8_192, 8_193, 1_000_000];
    const fillings = ["a", "0", "=", ",", " ", "v1,", "v1=", "t=1,", "sha256=", "zz", "é", "\0", "+/"];
    const good = signed(scheme, body);
    const kinds = new Set<string>();
    for (const name of Object.keys(good)) {
      for (const length of lengths) {
        for (const filling of fillings) {
          const junk = filling.repeat(Math.ceil(length / filling.length)).slice(0, length);
          for (const prefix of ["", "sha256=", "v1,", "t=1767225600,v1="]) {
            kinds.add(judge(keyring, { headers: { ...good, [name]: prefix + junk }, body }).kind);
          }
        }
      }
    }
    expect([...kinds]).toEqual(["refused"]);
  });

  test("never throws on any headers and bytes", () => {
    const names = Object.keys(signed(scheme, body));
    const header = fc.tuple(fc.constantFrom(...names), fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(fc.array(header, { maxLength: 6 }), fc.uint8Array(), (headers, bytes) => {
        expect(judge(keyring, { headers: headers.flat(), body: bytes }).kind).toBe("refused");
      }),
    );
  });

  test("accepts any of the secrets in a rotation, in either order, and no other", () => {
    const phases = [[secret], [secret, otherSecret], [otherSecret, secret], [undefined, otherSecret]];
    for (const phase of phases) {
      const ring = keyringFor(scheme, ...phase);
      for (const by of [secret, otherSecret, "a secret of nobody"]) {
        const verdict = judge(ring, { headers: signed(scheme, body, by), body });
        const id = verdict.kind === "verified" ? verdict.secretId : undefined;
        expect(id).toBe(phase.includes(by) ? secretId(by) : undefined);
      }
    }
  });

  test("tries every secret, wherever the one that matches stands", () => {
    const tried: string[] = [];
    const ring = keyringFor(scheme, secret, otherSecret, "a third secret");
    const entries = ring.entries.map((entry) => ({
      ...entry,
      keys: entry.keys.map(({ id, key }) =>
        Object.defineProperty({ id, key }, "key", { get: () => (tried.push(id), key) }),
      ),
    }));
    const watched = { ...ring, entries } as Keyring;
    expect(judge(watched, { headers: signed(scheme, body), body }).kind).toBe("verified");
    expect(tried).toEqual(ring.secretIds);
  });

  test("refuses everything under an empty keyring, also what was signed with an empty key", () => {
    const headers = signed(scheme, body, "");
    expect(causeOf(emptyKeyring, { headers, body })).toBe("no_usable_secret");
    expect(causeOf(keyring, { headers, body })).toBe("signature_mismatch");
  });
});

describe("verify() of bodies", () => {
  const keyring = keyringFor(bodyOnly, secret);

  test.each([
    String.raw`{"a":"\u001B and \u001b"}`,
    String.raw`{"a":"\/ \\u00"}`,
    '{"a":"\u2028"}',
    '{"n":[1.0,1e2,-0]}',
    `{${" ".repeat(300)}}`,
    '{"a":1}\r\n{"a":2}\r\n',
    '{"b":1,"a":2,"a":3}',
    "\ufeff{}",
    "",
  ])("takes %j as it is, and not as JSON.stringify would write it", (text) => {
    const bytes = Buffer.from(text);
    const headers = signed(bodyOnly, bytes);
    expect(judge(keyring, { headers, body: bytes }).kind).toBe("verified");
    expect(judge(keyring, { headers, body: Buffer.from(JSON.stringify({ text })) }).kind).toBe("refused");
  });

  test("what one scheme decodes and sorts before it is signed counts as it came under another", () => {
    const form = { ...bodyOnly, signed: [{ form: { orBodyHashParam: "hash" } }] } as const;
    const bytes = Buffer.from("b=%C3%A4+%2B&a=1");
    const type = { "content-type": "application/x-www-form-urlencoded" };
    const overText = { ...type, ...signed(bodyOnly, Buffer.from("a1bä +")) };
    const overBytes = { ...type, ...signed(bodyOnly, bytes) };
    const kinds = (of: Keyring) => [overText, overBytes].map((headers) => judge(of, { headers, body: bytes }).kind);
    expect(kinds(keyringFor(form, secret))).toEqual(["verified", "refused"]);
    expect(kinds(keyring)).toEqual(["refused", "verified"]);
  });

  test("takes bytes that are no text", () => {
    const bytes = Buffer.from([0xc3, 0x28, 0xff, 0xfe, 0x00]);
    const headers = signed(bodyOnly, bytes);
    expect(judge(keyring, { headers, body: bytes }).kind).toBe("verified");
    expect(judge(keyring, { headers, body: Buffer.from(bytes.toString("utf8")) }).kind).toBe("refused");
  });
});
