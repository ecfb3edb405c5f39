/** Whose work a transaction does, and what a connection may be: told where it is written. */

import { connect, type ConnectOptions, defineApp } from "counterfoil";
import { github, stripe } from "counterfoil/providers";
import { sqlite } from "counterfoil/sqlite";
import { onTestFinished, expect, test } from "vitest";
import { storeAt } from "../support/engine.ts";
import { ownDatabase } from "../support/own-database.ts";

const secrets = ["a secret of these tests"];

test("a transaction names a tenant, and a connection of that tenant", async () => {
  const app = defineApp({
    store: storeAt((await ownDatabase()).address),
    connections: [connect("stripe", { provider: stripe, secrets, tenant: "acme", handlers: [] })],
    effects: [],
  });
  onTestFinished(() => app.stop());
  const begin = (scope: { readonly tenant: string; readonly connection?: string }) =>
    app.transaction(scope, () => "done");
  expect(await begin({ tenant: "acme", connection: "stripe" })).toBe("done");
  expect(await begin({ tenant: "globex" })).toBe("done");
  await expect(begin({ tenant: "globex", connection: "stripe" })).rejects.toThrow(/is not of the tenant/);
  await expect(begin({ tenant: "acme", connection: "nobody" })).rejects.toMatchObject({ code: "UNKNOWN_CONNECTION" });
  await expect(begin({} as { tenant: string })).rejects.toThrow(/its tenant is undefined/);
});

test.each<[string, object, RegExp]>([
  ["an option that does not exist", { provider: stripe, handler: [] }, /there is no option "handler"/],
  ["a mode that the provider does not tell", { provider: github, mode: "live" }, /do not tell their mode/],
])("a connection refuses %s", (_name, options, message) => {
  const all = { secrets, tenant: "acme", handlers: [], ...options } as unknown as ConnectOptions<"stripe">;
  expect(() => defineApp({ store: sqlite(":memory:"), connections: [connect("a", all)], effects: [] })).toThrow(
    message,
  );
});
