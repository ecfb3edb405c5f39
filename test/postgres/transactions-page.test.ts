/** The examples of docs/transactions.md type-check and do what the page says. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { postgresDatabase } from "../support/postgres-database.ts";
import { ask } from "../support/postgres-query.ts";

const page = readFileSync("docs/transactions.md", "utf8");

/** The code blocks, by the headings that they stand under; the first one is the configuration, and an adapter has two. */
function examples(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let heading = "";
  for (const [, title, code] of page.matchAll(/^#+ ([^\n]+)$|^```ts\n(.*?)^```$/gmsu)) {
    if (title !== undefined) heading = title.toLowerCase().replaceAll(/\W+/gu, "-");
    else found.set(found.size === 0 ? "counterfoil.config" : found.has(heading) ? `${heading}-2` : heading, code ?? "");
  }
  return found;
}

const tools = ["pg", "postgres-js", "drizzle", "kysely", "prisma", "typeorm", "knex"];

let folder: string;
beforeAll(() => {
  mkdirSync(".examples", { recursive: true });
  folder = mkdtempSync(".examples/transactions-");
  for (const [name, code] of examples()) writeFileSync(join(folder, `${name}.ts`), code);
});
afterAll(() => rmSync(folder, { recursive: true }));

test("the page has an example for each tool", () => {
  const others = ["counterfoil.config", "a-receipt-in-your-transaction", "your-tool-inside-handlers", "sqlite"];
  const adapters = ["an-adapter-of-your-own", "an-adapter-of-your-own-2"];
  expect([...examples().keys()].toSorted()).toEqual([...tools, ...others, ...adapters].toSorted());
});

test("they type-check", () => {
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ extends: resolve("tsconfig.json"), include: ["*.ts"] }),
  );
  const { stdout } = spawnSync("tsc", ["-p", folder], { encoding: "utf8" });
  expect(stdout.split("\n").filter((line) => line.startsWith(folder))).toEqual([]);
});

test("each places its order with what is owed for it, and the hook's copy is a duplicate", async () => {
  await using database = await postgresDatabase();
  const { address } = database;
  await ask(address, "CREATE TABLE orders (id text PRIMARY KEY, status text); CREATE TABLE requests (path text)");
  const child = [...process.execArgv, "test/postgres/children/place-orders.ts", folder, ...tools];
  const env = { ...process.env, DATABASE_URL: address, STRIPE_SECRET: "whsec_of_the_examples" };
  const { stdout, stderr } = spawnSync(process.execPath, child, { encoding: "utf8", env, timeout: 100_000 });
  expect(stderr).toBe("");
  const first = { eventId: "evt_1", outcome: "applied", reason: null, duplicate: false, mismatch: false };
  expect(JSON.parse(stdout)).toEqual({ answers: [first, { ...first, duplicate: true }], placed: [{ id: "sqlite" }] });
  const orders = await ask(address, "SELECT id, status FROM orders ORDER BY id");
  expect(orders).toEqual(tools.toSorted().map((id) => ({ id, status: id === "pg" ? "paid" : "awaiting_payment" })));
  const owed = await ask(address, "SELECT operation_key AS key FROM counterfoil.obligations ORDER BY operation_key");
  expect(owed).toEqual(tools.toSorted().map((id) => ({ key: `${id}/confirm/v1` })));
  expect(await ask(address, "SELECT count(*)::int AS count FROM requests")).toEqual([{ count: 2 }]);
});
