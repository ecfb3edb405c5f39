import { expect, test } from "vitest";
import { effect, type EffectOptions } from "../domain/effect.ts";
import { defaults } from "../domain/limits.ts";
import { type } from "../domain/schema.ts";
import { checkEffect } from "./check-effect.ts";

type Options = Partial<EffectOptions<null, unknown, unknown>>;

function problem(options: Options): string | undefined {
  const declared = effect<null>("ship/v1", {
    input: type<null>(),
    request: () => ({ method: "POST", url: "https://carrier.example" }),
    idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
    ...options,
  });
  return checkEffect(declared.definition, defaults);
}

const lookup = { get: () => "https://carrier.example", found: () => undefined };

test.each<Options>([
  {},
  { idempotency: "none", lookup: { ...lookup, absentOn: [404], settleDelay: "0s" } },
  { idempotency: { field: "key", keyLifetime: "1h", lengthMax: 40 }, timeout: "20s", attemptsMax: 1, concurrency: 1 },
  { idempotency: { query: "requestid", keyLifetime: "1h", lengthMax: 50 } },
  { idempotency: { field: "nonce", form: "compact", keyLifetime: "2m", lengthMax: 25 } },
  { allow: ["http://127.0.0.1:4601"], headers: () => ({ authorization: "Bearer t" }) },
  { verdicts: { 404: "again" } },
  // Never asked before there is an operation: the process that only lists may lack the secret.
  {
    headers: () => {
      throw new Error("no token");
    },
  },
])("an effect that declares %j can be carried out", (options) => {
  expect(problem(options)).toBeUndefined();
});

test.each<[string, Options, string]>([
  ["a timeout that is no duration", { timeout: "1 minute" as never }, "1 minute"],
  ["a timeout that outlasts the lease", { timeout: "5m" }, "lease"],
  [
    "a key that is dead when it is born",
    { idempotency: { header: "Idempotency-Key", keyLifetime: "30s" } },
    "key lifetime",
  ],
  [
    "a key header that frames the message",
    { idempotency: { header: "Content-Length", keyLifetime: "24h" } },
    "Content-Length",
  ],
  ["a key header that is no name", { idempotency: { header: "Idempotency Key", keyLifetime: "24h" } }, "header"],
  ["a key field without a name", { idempotency: { field: "", keyLifetime: "24h" } }, "field"],
  ["a key parameter without a name", { idempotency: { query: "", keyLifetime: "24h" } }, "parameter"],
  ["a key in two places", { idempotency: { query: "a", field: "b", keyLifetime: "24h" } as never }, "several places"],
  ["a UUID cut short", { idempotency: { header: "K", form: "uuid", keyLifetime: "24h", lengthMax: 32 } }, "36"],
  ["a key of no known form", { idempotency: { header: "K", form: "v7" as never, keyLifetime: "24h" } }, "form"],
  ["a key too short to be unique", { idempotency: { header: "K", keyLifetime: "24h", lengthMax: 16 } }, "32"],
  ["no attempt at all", { attemptsMax: 0 }, "attemptsMax"],
  ["half a call at once", { concurrency: 0.5 }, "concurrency"],
  ["success as absent", { lookup: { ...lookup, absentOn: [200] } }, "200"],
  ["an allowed URL that is no origin", { allow: ["http://carrier.internal/v1"] }, "origin"],
  ["a success that is sent again", { verdicts: { 200: "again" } }, "200"],
])("an effect that declares %s cannot", (_, options, words) => {
  expect(problem(options)).toContain(words);
});
