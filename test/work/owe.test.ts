/** A request is built once, from what was owed, and frozen: which bytes, under which names, and what cannot be owed. */
import { type App, defineApp, effect, type RequestSpec, type } from "counterfoil";
import * as fc from "fast-check";
import * as v from "valibot";
import { describe, expect, onTestFinished, test } from "vitest";
import { operationOf, requestDigest } from "../../src/work/owe.ts";
import { storeAt } from "../support/engine.ts";
import { ownDatabase } from "../support/own-database.ts";

interface Asked {
  readonly key: readonly string[];
  readonly input: unknown;
  readonly tenant?: string;
}

/** An application that owes one effect, whose request the test builds. */
async function owing(
  request: (operation: { readonly key: string; readonly input: { readonly n: number } }) => RequestSpec,
) {
  const tell = effect("tell/v1", {
    input: v.object({ n: v.number() }),
    request,
    idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
  });
  const app: App = defineApp({
    store: storeAt((await ownDatabase()).address),
    connections: [],
    effects: [tell],
    limits: { requestBytes: 40 },
  });
  await app.open();
  onTestFinished(() => app.stop());
  const owe = ({ key, input, tenant = "acme" }: Asked): Promise<void> =>
    app.transaction({ tenant }, (context) =>
      context.owe(tell, { key: key as [string], input: input as { n: number } }),
    );
  return { app, owe };
}

const plain = ({ input }: { readonly input: { readonly n: number } }): RequestSpec => ({
  method: "POST",
  url: "https://partner.example/v1/notes?of=a b",
  json: input,
});

test("the request is kept byte for byte, with its digest and the origin that it goes to", async () => {
  const { app, owe } = await owing(plain);
  await owe({ key: ["a/b", "v1"], input: { n: 1.5 } });
  const detail = await app.runtime.store.reader.obligation("acme", "a%2Fb/v1");
  const body = Buffer.from('{"n":1.5}');
  expect(detail).toMatchObject({
    input: '{"n":1.5}',
    obligation: { destination: "https://partner.example", generation: 1, effect: "tell/v1" },
    request: { method: "POST", url: "https://partner.example/v1/notes?of=a%20b", contentType: "application/json" },
  });
  expect(Buffer.from(detail!.request!.body!)).toEqual(body);
  expect(detail?.requestDigest).toBe(
    requestDigest({ ...detail!.request!, body }, { header: "idempotency-key", keyLifetime: "48h" }),
  );
});

test("is built once: what a later owe of the same key would build is not asked for", async () => {
  let built = 0;
  const { app, owe } = await owing(({ input }) => ({
    ...plain({ input }),
    url: `https://partner.example/${(built += 1)}`,
  }));
  await owe({ key: ["a"], input: { n: 1 } });
  await owe({ key: ["a"], input: { n: 1 } });
  const detail = await app.runtime.store.reader.obligation("acme", "a");
  expect(detail?.request?.url).toBe("https://partner.example/1");
});

test("what is the same input does not depend on the order of its keys", async () => {
  const tell = effect("tell/v1", {
    input: type<Readonly<Record<string, number>>>(),
    request: ({ input }) => ({ method: "POST", url: "https://partner.example", json: input }),
    idempotency: "none",
  });
  const app = defineApp({ store: storeAt((await ownDatabase()).address), connections: [], effects: [tell] });
  onTestFinished(() => app.stop());
  const owe = (input: Readonly<Record<string, number>>) =>
    app.transaction({ tenant: "acme" }, (context) => context.owe(tell, { key: ["a"], input }));
  await owe({ a: 1, b: 2 });
  await owe({ b: 2, a: 1 });
  await expect(owe({ a: 1, b: 3 })).rejects.toMatchObject({ code: "OPERATION_CONFLICT" });
});

test("no two operations of any tenants share a name at the provider, however they are spelled", () => {
  const part = fc.stringMatching(/^[ab/%2F]{1,4}$/);
  const operation = fc.record({ tenant: part, key: fc.array(part, { minLength: 1, maxLength: 3 }) });
  fc.assert(
    fc.property(operation, operation, (one, other) => {
      fc.pre(JSON.stringify(one) !== JSON.stringify(other));
      const named = ({ tenant, key }: typeof one) => {
        const operationKey = key.map((each) => encodeURIComponent(each)).join("/");
        return operationOf({ tenant, operationKey, generation: 1 }, null, { idempotency: "none" } as never);
      };
      expect(named(one).key).not.toBe(named(other).key);
      expect(named(one).wireKey).not.toBe(named(other).wireKey);
    }),
    { numRuns: 500 },
  );
});

describe("what cannot be owed leaves nothing, and says what to do", () => {
  const good = { key: ["a"], input: { n: 1 } };
  test.each<[string, Partial<Asked>, (operation: { readonly input: { readonly n: number } }) => RequestSpec, RegExp]>([
    ["no key", { key: [] }, plain, /it has no parts; name the business operation/],
    ["a key with an empty part", { key: ["a", ""] }, plain, /part 2 is empty/],
    ["a key with an undefined part", { key: ["a", undefined as never] }, plain, /part 2 is undefined/],
    ["an input that does not fit", { input: { n: "one" } }, plain, /its input does not fit at "n"/],
    ["a relative URL", {}, () => ({ method: "POST", url: "/v1/notes" }), /no absolute http or https URL/],
    ["another scheme", {}, () => ({ method: "POST", url: "ftp://partner.example" }), /no absolute http or https URL/],
    ["a large request", {}, () => ({ ...plain(good), json: "x".repeat(39) }), /has 41 bytes, allowed are 40/],
  ])("%s", async (_name, asked, request, message) => {
    const { app, owe } = await owing(request);
    await expect(owe({ ...good, ...asked })).rejects.toThrow(message);
    expect(await app.runtime.store.reader.obligations({}, { limit: 1 })).toEqual([]);
  });

  test("an effect that is not registered, or only one of the same name", async () => {
    const { app } = await owing(plain);
    const other = effect("tell/v1", { input: type<number>(), request: () => plain(good), idempotency: "none" });
    const owed = app.transaction({ tenant: "acme" }, ({ owe }) => owe(other, { key: ["a"], input: 1 }));
    await expect(owed).rejects.toThrow(/"tell\/v1": it is not registered; add it to effects in defineApp/);
  });
});
