import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { defineProvider } from "./define-provider.ts";
import { generic } from "./generic.ts";
import { github } from "./github.ts";
import type { ProviderSpec } from "./provider-spec.ts";
import { stripe } from "./stripe.ts";

const spec: ProviderSpec<"acme"> = {
  name: "acme",
  schemes: [{ kind: "token", header: "x-token" }],
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
  ackMs: 5_000,
  retries: true,
  redeliveryMs: 1_000,
};
const signature = {
  headers: ["x-signature"],
  grammar: { kind: "single" },
  encoding: "hex",
  key: { from: "utf8" },
} as const;
const hmac = { ...signature, kind: "hmac", hash: "sha256" } as const;
const header = { header: "x-time" };

describe("defineProvider()", () => {
  test("fills in what the spec leaves out", () => {
    expect(defineProvider(spec).rules).toMatchObject({
      data: [],
      volatile: [],
      contentTypes: ["application/json"],
      methods: ["POST"],
      bodyBytesMax: 1024 * 1024,
      replayWindowMs: 1_000,
      answers: {},
    });
  });

  test.each<readonly [string, Partial<ProviderSpec<"acme">>]>([
    ["the name may have", { name: "Acme Corp" as "acme" }],
    ["it has no scheme", { schemes: [] as unknown as ProviderSpec["schemes"] }],
    ["ackMs is -1", { ackMs: -1 }],
    ["redeliveryMs is Infinity", { redeliveryMs: Infinity }],
    ["bodyBytesMax is 0.5", { bodyBytesMax: 0.5 }],
    ["no rule says where", { schemes: [{ ...hmac, signed: ["timestamp", "body"] }] }],
    [
      "only where signatures are pairs",
      {
        schemes: [{ ...hmac, signed: ["body"], timestamp: { from: { pair: "t" }, unit: "s", pastMs: 0, futureMs: 0 } }],
      },
    ],
    [
      "a tolerance is negative",
      { schemes: [{ ...hmac, signed: ["body"], timestamp: { from: header, unit: "s", pastMs: -1, futureMs: 0 } }] },
    ],
    [
      "a tolerance is negative",
      {
        schemes: [
          { ...hmac, signed: ["body"], timestamp: { from: header, unit: "s", pastMs: Number.NaN, futureMs: 0 } },
        ],
      },
    ],
  ])("refuses data that contradicts itself: %s", (problem, change) => {
    expect(() => defineProvider({ ...spec, ...change })).toThrow(problem);
  });
});

describe("provider.on()", () => {
  const handle = (): void => {};

  test.each<readonly [string, unknown]>([
    ['Cannot define provider "undefined": it has no name', { ...spec, name: undefined }],
    ["schemes is no list; say how", { ...spec, schemes: undefined }],
    ['kind "hmca"; known are hmac, ed25519', { ...spec, schemes: [{ ...hmac, kind: "hmca" }] }],
    ['kind "toString"; known', { ...spec, schemes: [{ kind: "toString" }] }],
    ['kind "undefined"; known', { ...spec, schemes: [null] }],
    ["identity is missing; say where", { ...spec, identity: undefined }],
    ['identity.id is from "undefined"; known are header, body', { ...spec, identity: { type: spec.identity.type } }],
    [
      'identity.type is from "cookie"; known are',
      { ...spec, identity: { id: spec.identity.id, type: { from: "cookie", name: "t" } } },
    ],
    ["ackMs is undefined; it must be", { ...spec, ackMs: undefined }],
  ])("says of what the compiler would not take: %s", (problem, given) => {
    expect(() => defineProvider(given as typeof spec)).toThrow(problem);
  });

  test("makes a handler of its provider and type", () => {
    const handler = github.on("push", handle);
    expect(handler).toMatchObject({ provider: "github", type: "push", handle });
    expect(handler.accepts({ anything: 1 })).toEqual({ data: { anything: 1 } });
  });

  test("checks the data against a schema and gives what the schema makes of it", () => {
    const object = v.object({
      id: v.pipe(
        v.string(),
        v.transform((id) => `${id}!`),
      ),
    });
    const handler = stripe.on("charge.refunded", v.object({ object }), handle);
    expect(handler.accepts({ object: { id: "ch_1", more: 2 } })).toEqual({ data: { object: { id: "ch_1!" } } });
    expect(handler.accepts({ object: { id: 4_242 } })).toEqual({ problem: 'does not fit at "object.id"' });
    expect(handler.accepts(undefined)).toHaveProperty("problem");
  });

  test("bounds what it says of data that fits nowhere", () => {
    const fields = Object.fromEntries(Array.from({ length: 50 }, (_each, index) => [`field${index}`, v.string()]));
    const handler = stripe.on("charge.refunded", v.object(fields), handle);
    const answer = handler.accepts(Object.fromEntries(Object.keys(fields).map((name) => [name, 1])));
    expect(answer).toEqual({
      problem: 'does not fit at "field0"; does not fit at "field1"; does not fit at "field2"; and 47 more',
    });
  });

  test("keeps its provider under the types of another source", () => {
    const typed = stripe.typed<{ type: "thing.made"; data: { id: string } }>();
    expect(typed).toBe(stripe);
    expect(typed.on("thing.made", handle)).toMatchObject({ provider: "stripe", type: "thing.made" });
  });
});

describe("generic()", () => {
  const { identity } = spec;

  test("makes a scheme of the short form, with careful defaults", () => {
    const { name, rules } = generic({ signature: { kind: "hmac", header: "x-signature" }, identity });
    expect([name, rules.retries, rules.ackMs]).toEqual(["generic", false, 10_000]);
    expect(rules.schemes).toEqual([{ ...hmac, signed: ["body"] }]);
  });

  test("passes on what it is given", () => {
    const timestamp = { from: header, unit: "ms", pastMs: 1, futureMs: 2 } as const;
    const key = { from: "base64" } as const;
    const given = {
      kind: "ed25519",
      header: "x-s",
      prefix: "v0=",
      encoding: "base64",
      key,
      signed: ["timestamp", "body"],
      timestamp,
    } as const;
    const { name, rules } = generic({
      name: "acme",
      signature: given,
      identity,
      ackMs: 3_000,
      retries: true,
      redeliveryMs: 5,
    });
    expect(name).toBe("acme");
    expect(rules).toMatchObject({ ackMs: 3_000, retries: true, redeliveryMs: 5 });
    expect(rules.schemes).toEqual([
      {
        kind: "ed25519",
        headers: ["x-s"],
        grammar: { kind: "single", prefix: "v0=" },
        encoding: "base64",
        key,
        signingKey: key,
        signed: ["timestamp", "body"],
        timestamp,
      },
    ]);
  });
});
