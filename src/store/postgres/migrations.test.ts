import { describe, expect, onTestFinished, test } from "vitest";
import { ask } from "../../../test/support/postgres-query.ts";
import { type PostgresServer, postgresServer, postgresServers } from "../../../test/support/postgres.ts";
import { claimedId } from "../conformance/drafts.conformance.ts";
import type { Migration } from "../migrations.ts";
import { storeAt } from "./bundle.conformance.ts";
import { dumpSchema } from "./dump-schema.conformance.ts";
import { knownMigrations } from "./migrations.ts";
import { postgres } from "./postgres.ts";

const next = (overrides: Partial<Migration> = {}): Migration => ({
  number: 9_001,
  name: "9001_next.sql",
  text: "CREATE TABLE counterfoil.next (a integer)",
  checksum: "next",
  breaking: false,
  ...overrides,
});

async function emptyDatabase(server?: PostgresServer): Promise<string> {
  const database = await (server ?? (await postgresServer())).createDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  return database.url;
}

async function migrated(migrations: readonly Migration[]): Promise<string> {
  const url = await emptyDatabase();
  const store = storeAt(url, { migrations });
  await store.migrate();
  await store.close();
  return url;
}

async function open(url: string, migrations?: readonly Migration[]): Promise<void> {
  const store = storeAt(url, migrations ? { migrations } : {});
  try {
    await store.open();
    await claimedId(store, { eventId: `evt_${Math.random()}` });
  } finally {
    await store.close();
  }
}

describe.each(postgresServers())("on $name", ({ server }) => {
  test("the migrations lead to the schema of the dump", async () => {
    const url = await emptyDatabase(await server());
    const store = storeAt(url);
    await store.migrate();
    await store.close();
    await expect(await dumpSchema(url)).toMatchFileSnapshot("./schema.txt");
  });
});

test("the package's migrations are numbered without a gap, and each has its checksum", () => {
  const known = knownMigrations();
  expect(known.map(({ number }) => number)).toEqual(known.map((_, index) => index + 1));
  for (const { checksum } of known) expect(checksum).toMatch(/^[0-9a-f]{64}$/);
});

test("a migration that is not breaking only adds, so that older code goes on", () => {
  const adds =
    /^(?:CREATE (?:TABLE|INDEX) |ALTER TABLE \S+ SET \(|ALTER TABLE \S+(?:,? ADD COLUMN \w+ (?!.*GENERATED)(?:(?!NOT NULL)[^,]|NOT NULL DEFAULT)+)+$)/;
  const others = knownMigrations()
    .filter(({ breaking, number }) => number > 1 && !breaking)
    .flatMap(({ text }) => text.replaceAll(/--[^\n]*/g, "").split(";"))
    .map((statement) => statement.trim().replaceAll(/\s+/g, " "))
    .filter((statement) => statement !== "" && !adds.test(statement));
  expect(others).toEqual([]);
});

test("older code works on a newer schema, unless what is newer is breaking", async () => {
  await open(await migrated([...knownMigrations(), next()]));
  const breaking = await migrated([...knownMigrations(), next({ breaking: true })]);
  await expect(open(breaking)).rejects.toMatchObject({ code: "SCHEMA_NEWER" });
  const older = storeAt(breaking);
  await expect(older.migrate()).rejects.toMatchObject({ code: "SCHEMA_NEWER" });
  await older.close();
});

test("newer code asks for the migration it lacks, by name, and runs only that", async () => {
  const url = await migrated(knownMigrations());
  const newer = [...knownMigrations(), next()];
  await expect(open(url, newer)).rejects.toThrow(/lacks 9001_next\.sql/);
  const store = storeAt(url, { migrations: newer });
  expect(await store.migrate()).toEqual(["9001_next.sql"]);
  await store.close();
  await open(url, newer);
});

test("a migration that was changed after it ran is refused", async () => {
  const url = await migrated([...knownMigrations(), next()]);
  const changed = [...knownMigrations(), next({ checksum: "other" })];
  await expect(open(url, changed)).rejects.toMatchObject({ code: "SCHEMA_NEWER" });
});

test("a migration that fails leaves nothing behind, not even those before it", async () => {
  const url = await emptyDatabase();
  const store = storeAt(url, { migrations: [...knownMigrations(), next({ text: "CREATE TABLE broken (" })] });
  await expect(store.migrate()).rejects.toThrow();
  await store.close();
  expect(await ask(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'counterfoil'")).toEqual([]);
});

test("of many that migrate at once one does the work, and all come to open", async () => {
  const url = await emptyDatabase();
  const stores = Array.from({ length: 6 }, () => storeAt(url));
  const ran = await Promise.all(stores.map((store) => store.migrate()));
  expect(ran.filter((names) => names.length > 0)).toHaveLength(1);
  await Promise.all(stores.map((store) => store.open()));
  await Promise.all(stores.map((store) => store.close()));
});

test("a schema that somebody else made is used, by a role that may not make one", async () => {
  const url = await emptyDatabase();
  await ask(url, "DROP ROLE IF EXISTS tenant_app; CREATE ROLE tenant_app LOGIN PASSWORD 'tenant'");
  await ask(url, 'CREATE SCHEMA "Shop-1" AUTHORIZATION tenant_app');
  const own = new URL(url);
  own.username = "tenant_app";
  own.password = "tenant";
  const store = storeAt(own.href, { schema: "Shop-1" });
  await store.migrate();
  await store.open();
  await claimedId(store);
  await store.close();
  const elsewhere = storeAt(own.href, { schema: "other" });
  await expect(elsewhere.migrate()).rejects.toMatchObject({ code: "42501" });
  await elsewhere.close();
  await ask(url, 'DROP SCHEMA "Shop-1" CASCADE; DROP ROLE tenant_app');
});

test.each([
  ["", /is empty/],
  ["it's", /cannot be quoted/],
  ["a\0b", /cannot be quoted/],
  ["x".repeat(64), /longer than the 63 bytes/],
  ["pg_mine", /keeps for itself/],
])("the schema %j is a mistake that is named", (schema, problem) => {
  expect(() => postgres({ schema })).toThrow(TypeError);
  expect(() => postgres({ schema })).toThrow(problem);
});

test.each(['quoted"name', "Ünïcode", "select", "with space"])("the schema %j works as any", async (schema) => {
  const url = await emptyDatabase();
  const store = storeAt(url, { schema });
  await store.migrate();
  await store.open();
  await claimedId(store);
  expect(await store.reader.counts()).toMatchObject({ deliveries: 1 });
  await store.close();
});

test("a database in another encoding is refused", async () => {
  const server = await postgresServer();
  await ask(server.url("postgres"), "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
  onTestFinished(async () => void (await ask(server.url("postgres"), "DROP DATABASE latin WITH (FORCE)")));
  const store = storeAt(server.url("latin"));
  await expect(store.migrate()).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
  await expect(store.open()).rejects.toThrow(/encoding LATIN1; use a database in UTF8/);
  await store.close();
});
