import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { claimedId } from "../conformance/drafts.conformance.ts";
import type { Migration } from "../migrations.ts";
import { storeAt, temporaryFolder } from "./bundle.conformance.ts";
import { knownMigrations } from "./migrations.ts";

const next = (overrides: Partial<Migration> = {}): Migration => ({
  number: 9_001,
  name: "9001_next.sql",
  text: "CREATE TABLE counterfoil_next (a INTEGER) STRICT",
  checksum: "next",
  breaking: false,
  ...overrides,
});

async function migrated(migrations: readonly Migration[]) {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const path = `${folder.path}/store.db`;
  const store = storeAt(path, { migrations });
  await store.migrate();
  await store.close();
  return path;
}

async function open(path: string, migrations?: readonly Migration[]): Promise<void> {
  const store = storeAt(path, migrations ? { migrations } : {});
  try {
    await store.open();
    await claimedId(store, { eventId: `evt_${Math.random()}` });
  } finally {
    await store.close();
  }
}

test("the package's migrations are numbered without a gap, and each has its checksum", () => {
  const known = knownMigrations();
  expect(known.map(({ number }) => number)).toEqual(known.map((_, index) => index + 1));
  for (const { checksum } of known) expect(checksum).toMatch(/^[0-9a-f]{64}$/);
});

test("older code works on a newer schema, unless what is newer is breaking", async () => {
  await open(await migrated([...knownMigrations(), next()]));
  const breaking = await migrated([...knownMigrations(), next({ breaking: true })]);
  await expect(open(breaking)).rejects.toMatchObject({ code: "SCHEMA_NEWER" });
  await expect(storeAt(breaking).migrate()).rejects.toMatchObject({ code: "SCHEMA_NEWER" });
});

test("newer code asks for the migration it lacks, by name, and runs only that", async () => {
  const path = await migrated(knownMigrations());
  const newer = [...knownMigrations(), next()];
  await expect(open(path, newer)).rejects.toThrow(/lacks 9001_next\.sql/);
  const store = storeAt(path, { migrations: newer });
  expect(await store.migrate()).toEqual(["9001_next.sql"]);
  await store.close();
  await open(path, newer);
});

test("a migration that was changed after it ran is refused", async () => {
  const path = await migrated([...knownMigrations(), next()]);
  const changed = [...knownMigrations(), next({ checksum: "other" })];
  await expect(open(path, changed)).rejects.toMatchObject({ code: "SCHEMA_NEWER" });
});

test("a migration that fails leaves nothing behind, not even those before it", async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const path = `${folder.path}/store.db`;
  const store = storeAt(path, { migrations: [...knownMigrations(), next({ text: "CREATE TABLE broken (" })] });
  await expect(store.migrate()).rejects.toThrow();
  await store.close();
  const database = new DatabaseSync(path);
  expect(database.prepare("SELECT name FROM sqlite_schema").all()).toEqual([]);
  database.close();
});
