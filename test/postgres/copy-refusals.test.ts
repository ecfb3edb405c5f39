import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { copyStore, planCopy } from "../../src/copy/copy-store.ts";
import { commit } from "../../src/store/conformance/bundle.conformance.ts";
import { claimedId, owedId } from "../../src/store/conformance/drafts.conformance.ts";
import { copiedTables, type CopiedTable, tableNames, unitTables } from "../../src/store/copying.ts";
import { CopyTarget } from "../../src/store/postgres/copy-target.ts";
import { keysQuery, unitQuery } from "../../src/store/sqlite/copy-queries.ts";
import { CopySource } from "../../src/store/sqlite/copy-source.ts";
import { ask } from "../support/postgres-query.ts";
import { copySides, type Sides } from "./copy-parts.ts";
import { fillStore, viewOf } from "./rich-store.ts";
import { runCopy } from "./run-copy.ts";

/** What a copy puts into a file, by name. */
function traces(path: string): readonly string[] {
  using database = new DatabaseSync(path);
  const rows = database.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'trigger' OR name = 'counterfoil_changes' ORDER BY name",
  );
  return rows.all().map(({ name }) => String(name));
}

test("a schema that is used is refused before anything is begun", async () => {
  const sides = await copySides();
  const used = sides.server();
  await used.migrate();
  await used.open();
  await commit(used, (tx) => tx.pauseDestination("https://a.test", null));
  await expect(runCopy(sides)).rejects.toMatchObject({
    code: "NOT_ALLOWED",
    message: expect.stringContaining('the schema "counterfoil" is in use: it has destinations; give another one'),
  });
  expect(traces(sides.path)).toEqual([]);
  // One of another name is another place.
  expect(await runCopy(sides, { schema: "shop two", final: true })).toMatchObject({ moved: true });
  await used.close();
});

test("who writes between the look and the copy's beginning is seen, and the schema stays open to them", async () => {
  const sides = await copySides();
  const used = sides.server();
  await used.migrate();
  await used.open();
  const target = new CopyTarget({ settings: { connectionString: sides.url }, schema: "counterfoil" });
  onTestFinished(() => target.close());
  await target.look();
  await claimedId(used);
  await expect(target.begin("a copy", "shop.db")).rejects.toMatchObject({ code: "NOT_ALLOWED" });
  await claimedId(used, { eventId: "another" });
});

test("a schema with another file's copy is refused, and so is another place for a file that is being copied", async () => {
  const [one, other] = [await copySides(), await copySides()];
  await runCopy(one);
  await expect(runCopy({ ...other, url: one.url })).rejects.toMatchObject({
    code: "NOT_ALLOWED",
    message: expect.stringContaining("holds another copy, of shop.db"),
  });
  await expect(runCopy({ ...one, url: other.url }, { to: "elsewhere" })).rejects.toMatchObject({
    code: "NOT_ALLOWED",
    message: expect.stringContaining("is being copied to the server; end that copy, or give it up with --abandon"),
  });
  expect(await runCopy(one, { final: true })).toMatchObject({ moved: true });
});

test("a file that was moved is refused everywhere but where it went, where nothing is left to do", async () => {
  const sides = await copySides();
  await fillStore(sides.file);
  const { rows } = await runCopy(sides, { final: true });
  const elsewhere = await copySides();
  await expect(runCopy({ ...sides, url: elsewhere.url }, { final: true })).rejects.toMatchObject({
    code: "STORE_MOVED",
    message: "Cannot copy: the store was moved to the server already",
  });
  const { audit, ...others } = rows;
  expect(await runCopy(sides)).toMatchObject({ moved: true, rows: { ...others, audit: audit + 1 } });
  const store = sides.server();
  await store.open();
  await claimedId(store, { eventId: "new" });
  expect(await runCopy(sides, { final: true })).toMatchObject({ moved: true });
});

test("a copy that is given up leaves no trace in the file, and what it has copied is of no use to the next", async () => {
  const sides = await copySides();
  await owedId(sides.file);
  await runCopy(sides);
  expect(traces(sides.path)).toHaveLength(46);
  const source = new CopySource(sides.path);
  onTestFinished(() => source.close());
  expect(await source.abandon()).toBe(true);
  expect(await source.abandon()).toBe(false);
  expect(traces(sides.path)).toEqual([]);
  await claimedId(sides.file);
  await expect(runCopy(sides)).rejects.toMatchObject({ code: "NOT_ALLOWED" });
  await ask(sides.url, "DROP SCHEMA counterfoil CASCADE");
  expect(await runCopy(sides, { final: true })).toMatchObject({ rows: { receipts: 1, obligations: 1 } });
  await expect(source.abandon()).rejects.toMatchObject({ code: "STORE_MOVED" });
});

test("a copy whose changes are not all noted is not gone on with", async () => {
  const sides = await copySides();
  await runCopy(sides);
  using database = new DatabaseSync(sides.path);
  database.exec("DROP TRIGGER counterfoil_answers_update_noted");
  await expect(runCopy(sides)).rejects.toMatchObject({
    code: "NOT_ALLOWED",
    message: expect.stringContaining("another version has begun it; give it up with --abandon"),
  });
});

test("of two that copy at once one is told, and what it had read is not written over what is newer", async () => {
  const sides = await copySides();
  const id = await claimedId(sides.file);
  await runCopy(sides);
  const source = new CopySource(sides.path);
  const target = new CopyTarget({ settings: { connectionString: sides.url }, schema: "counterfoil" });
  onTestFinished(async () => {
    source.close();
    await target.close();
  });
  await target.begin(source.mark()!.checksum, "shop.db");
  const stale = source.read("receipts", [[id]], { units: 1, bytes: 1 });
  await commit(sides.file, (tx) => tx.recordRedeliveries([{ receiptId: id, mismatch: null }]));
  const other = new CopyTarget({ settings: { connectionString: sides.url }, schema: "counterfoil" });
  onTestFinished(() => other.close());
  await other.begin(source.mark()!.checksum, "shop.db");
  await other.write(source.read("receipts", [[id]], { units: 1, bytes: 1 }));
  await expect(target.write(stale)).rejects.toMatchObject({ code: "STORE_BUSY" });
  expect(await runCopy(sides, { final: true })).toMatchObject({ rows: { redelivered: 1 } });
  await expect(target.write(stale)).rejects.toMatchObject({ code: "STORE_BUSY" });
});

test("a row that somebody changed over there ends the copy, by its key; the file goes on", async () => {
  const sides = await copySides();
  await fillStore(sides.file);
  await runCopy(sides);
  const before = await viewOf(sides.file);
  await meddle(sides, "UPDATE counterfoil.payloads SET bytes = 'secret'::bytea WHERE receipt_id = 7");
  await expect(runCopy(sides, { final: true })).rejects.toMatchObject({
    code: "COPY_DIFFERS",
    message: expect.stringMatching(/^Cannot end the copy: of receipts, \[7\] is not the same there; (?!.*secret)/),
  });
  expect(await viewOf(sides.file)).toEqual(before);
  await claimedId(sides.file, { eventId: "goes on" });
});

test("a row too many over there is found as well", async () => {
  const sides = await copySides();
  await fillStore(sides.file);
  await runCopy(sides);
  await meddle(sides, "INSERT INTO counterfoil.redelivered VALUES (999999, 1)");
  await expect(runCopy(sides, { final: true })).rejects.toMatchObject({
    code: "COPY_DIFFERS",
    message: expect.stringContaining("of receipts, [999999]"),
  });
});

test("what does not arrive under the lock is found by reading it back, and the file goes on", async () => {
  const sides = await copySides();
  await runCopy(sides);
  await owedId(sides.file);
  await onInsert(sides, "requests", "RETURN NULL");
  await expect(runCopy(sides, { final: true })).rejects.toMatchObject({
    code: "COPY_DIFFERS",
    message: expect.stringContaining("of obligations, [1]"),
  });
  await claimedId(sides.file, { eventId: "goes on" });
});

test("what is lost under the lock is found by counting, and the file goes on", async () => {
  const sides = await copySides();
  await claimedId(sides.file);
  await runCopy(sides);
  await owedId(sides.file);
  await onInsert(sides, "requests", "DELETE FROM counterfoil.payloads; RETURN NEW");
  await expect(runCopy(sides, { final: true })).rejects.toMatchObject({
    code: "COPY_DIFFERS",
    message: expect.stringContaining("payloads has 1 rows, and 0 there"),
  });
  await claimedId(sides.file, { eventId: "goes on" });
});

/** Has the server do something else for a row than what it is told. */
function onInsert({ url }: Pick<Sides, "url">, table: string, body: string): Promise<unknown> {
  return ask(
    url,
    `CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; END $$;
     CREATE TRIGGER meddle BEFORE INSERT ON counterfoil.${table} FOR EACH ROW EXECUTE FUNCTION meddle()`,
  );
}

/** As somebody would who may do everything. */
function meddle({ url }: Pick<Sides, "url">, text: string): Promise<unknown> {
  return ask(url, `SET session_replication_role = replica; ${text}`);
}

test("what is no store, or none of this version, is refused before the server is asked", async () => {
  const { path, url } = await copySides();
  const folder = dirname(path);
  expect(() => new CopySource(join(folder, "none.db"))).toThrow(/^Cannot copy .*none\.db: there is no such file/);
  expect(existsSync(join(folder, "none.db"))).toBe(false);
  writeFileSync(join(folder, "text.db"), "no database at all, but long enough to be read as one".repeat(20));
  expect(() => new CopySource(join(folder, "text.db"))).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  new DatabaseSync(join(folder, "other.db")).close();
  expect(() => new CopySource(join(folder, "other.db"))).toThrow(expect.objectContaining({ code: "SCHEMA_OUTDATED" }));
  const bad = new URL(url);
  bad.password = "wrong";
  const options = { from: "a", to: "b", final: false, who: "ann" };
  const source = new CopySource(path);
  onTestFinished(() => source.close());
  const target = new CopyTarget({ settings: { connectionString: bad.href }, schema: "counterfoil" });
  await expect(copyStore({ ...options, source, target })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  expect(traces(path)).toEqual([]);
});

test("a plan counts and changes nothing", async () => {
  const sides = await copySides();
  await fillStore(sides.file);
  const source = new CopySource(sides.path);
  onTestFinished(() => source.close());
  const target = new CopyTarget({ settings: { connectionString: sides.url }, schema: "counterfoil" });
  onTestFinished(() => target.close());
  const plan = await planCopy({ source, target, to: "the server" });
  expect(plan).toMatchObject({ begun: false, rows: { obligations: 8, snapshots: 6, audit: 2 } });
  expect(traces(sides.path)).toEqual([]);
  expect(await ask(sides.url, "SELECT FROM pg_namespace WHERE nspname = 'counterfoil'")).toEqual([]);
});

test("every column of the server's tables is copied, and every table of the file is watched or tells of processes", async () => {
  const sides = await copySides();
  await runCopy(sides);
  const columns = await ask<{ name: string; columns: string[] }>(
    sides.url,
    `SELECT c.relname AS name, array_agg(a.attname::text ORDER BY a.attname) AS columns
     FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'counterfoil'::regnamespace AND c.relkind = 'r' AND a.attgenerated = ''
       AND c.relname NOT IN ('migrations', 'copying', 'workers', 'touches', 'notices')
     GROUP BY c.relname`,
  );
  const described: [string, CopiedTable][] = Object.entries(copiedTables);
  expect(Object.fromEntries(columns.map(({ name, columns: names }) => [name, names]))).toEqual(
    Object.fromEntries(described.map(([name, table]) => [name, Object.keys(table.columns).toSorted()])),
  );
  expect(Object.values(unitTables).flat().toSorted()).toEqual(tableNames.toSorted());
  using database = new DatabaseSync(sides.path);
  const unwatched = database.prepare(
    `SELECT name FROM sqlite_schema AS t WHERE type = 'table' AND name LIKE 'counterfoil%'
       AND (SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = t.name) <> 3 ORDER BY name`,
  );
  expect(unwatched.all().map(({ name }) => name)).toEqual([
    "counterfoil_changes",
    "counterfoil_migrations",
    "counterfoil_notices",
    "counterfoil_totals",
    "counterfoil_workers",
  ]);
});

test("every read of the file goes by a key", async () => {
  const { path } = await copySides();
  using database = new DatabaseSync(path);
  const texts = [
    ...tableNames.map(unitQuery),
    ...(Object.keys(unitTables) as (keyof typeof unitTables)[]).map((kind) => keysQuery(kind, "after")),
  ];
  for (const text of texts) {
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
    for (const { detail } of plan) expect(String(detail), text).not.toMatch(/^SCAN|TEMP B-TREE/);
  }
});
