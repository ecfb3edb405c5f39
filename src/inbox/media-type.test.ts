import { expect, test } from "vitest";
import { stripe } from "../providers/stripe.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { emptyKeyring } from "../verify/keyring.ts";
import type { Connection } from "./connection.ts";
import { type MediaType, mediaTypeOf } from "./media-type.ts";

const connection: Connection = {
  id: "stripe",
  provider: { ...stripe, rules: { ...stripe.rules, contentTypes: ["application/json", "application/vnd.acme+json"] } },
  keyring: emptyKeyring,
  tenant: "acme",
  handlers: new Map(),
  failing: "hold",
  mode: null,
  missingMode: "quarantine",
  bodyBytesMax: 1,
  handlerMs: 1,
  bytesKeptMs: 0,
  replayWindowMs: 0,
  releaseBy: null,
  handshake: {},
  apply: "now",
  order: null,
  silentAfterMs: null,
  endingSecrets: [],
};

const assert = (...raw: readonly string[]): MediaType => mediaTypeOf(connection, headersFromRaw(raw));

test.each([
  [],
  ["content-type", ""],
  ["content-type", "application/json"],
  ["content-type", "Application/JSON ; charset=UTF-8"],
  ["content-type", 'application/json;charset="utf8"'],
  ["content-type", "application/json; profile=x; charset=utf-8"],
  ["content-type", "application/vnd.acme+json"],
  ["content-encoding", "Identity"],
  ["content-encoding", ""],
])("takes %j %j", (...raw) => {
  expect(() => assert(...raw)).not.toThrow();
});

test.each([
  [["content-type", "text/plain"], /content type is "text\/plain", taken is application\/json, application\/vnd/],
  [["content-type", "application/x-www-form-urlencoded"], /change it in the provider's webhook settings/],
  [["content-type", "application/jsonx"], /content type/],
  [["content-type", "application/json; charset=utf-16"], /charset is "utf-16", taken is utf-8/],
  [["content-type", "application/json; charset=iso-8859-1"], /charset/],
  [["content-encoding", "gzip"], /encoding is "gzip", taken is none/],
  [["content-encoding", "br\u0000\u001b[31m"], /encoding is "br\?\?\[31m"/],
  [["content-type", "x".repeat(500)], /^.{0,250}$/],
] as const)("refuses %j and says what to do", (raw, message) => {
  expect(() => assert(...raw)).toThrow(
    expect.objectContaining({ code: "MEDIA_TYPE_REFUSED", message: expect.stringMatching(message) }),
  );
});

test("takes what is declared, and tells how it is to be read", () => {
  const rules = {
    ...connection.provider.rules,
    contentTypes: ["application/json", "application/x-www-form-urlencoded"] as const,
    encodings: ["gzip"] as const,
  };
  const declared = { ...connection, provider: { ...connection.provider, rules } };
  const read = (...raw: readonly string[]): MediaType => mediaTypeOf(declared, headersFromRaw(raw));
  expect(read("content-encoding", " GZIP", "content-type", "application/json")).toEqual({
    isGzip: true,
    isForm: false,
  });
  for (let time = 0; time < 2; time += 1) {
    expect(read("content-type", "Application/X-WWW-Form-Urlencoded; charset=utf-8")).toEqual({
      isGzip: false,
      isForm: true,
    });
  }
  for (const encoding of ["br", "gzip, gzip", "x-gzip"]) {
    expect(() => read("content-encoding", encoding)).toThrow("taken is gzip");
  }
});
