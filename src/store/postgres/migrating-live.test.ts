/**
 * A version that runs while the next one migrates: the next one's migration adds to every table of this one, which
 * is all that a migration may do that is not marked as breaking.
 */
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { ask, untilBlocked } from "../../../test/support/postgres-query.ts";
import { eventually } from "../../testing/eventually.ts";
import { commit } from "../conformance/bundle.conformance.ts";
import { attemptEnd, claimDue, claimedId, moveOf, owedId } from "../conformance/drafts.conformance.ts";
import type { Migration } from "../migrations.ts";
import type { Store } from "../store.ts";
import { migratedDatabase, storeAt } from "./bundle.conformance.ts";
import { knownMigrations } from "./migrations.ts";
import { readEverything, useEverything } from "./use-everything.conformance.ts";

const tables = ["receipts", "payloads", "redelivered", "obligations", "progress", "requests", "attempts", "answers"];

/** Columns with and without a default, and an index over what moves most. */
const additions = [
  ...tables.map(
    (table) => `ALTER TABLE counterfoil.${table} ADD COLUMN note text, ADD COLUMN weight integer NOT NULL DEFAULT 1`,
  ),
  "CREATE INDEX progress_weight ON counterfoil.progress (weight, obligation_id)",
  "CREATE TABLE counterfoil.later (id bigint PRIMARY KEY)",
];

const later: Migration = {
  number: 9_001,
  name: "9001_later.sql",
  text: additions.join(";\n"),
  checksum: "later",
  breaking: false,
};

async function openStore(url: string, migrations: readonly Migration[] = knownMigrations()): Promise<Store> {
  const store = storeAt(url, { migrations });
  onTestFinished(() => store.close());
  return store;
}

async function databaseUrl(): Promise<string> {
  const database = await migratedDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  return database.url;
}

/** A transaction that has read a table and stays open, as a report's. */
async function report(url: string, table: string): Promise<{ readonly end: () => Promise<void> }> {
  const client = new Client({ connectionString: url, application_name: "outside" });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`BEGIN; SELECT count(*) FROM counterfoil.${table}`);
  return { end: async () => void (await client.query("COMMIT")) };
}

/** Events, what they owe and how it ends, one after the other until it is told to stop. */
function load(store: Store, name: string) {
  const done = { steps: 0, isOver: false };
  const step = async (): Promise<void> => {
    const key = `${name}/${done.steps}`;
    const receiptId = await claimedId(store, { eventId: key });
    await owedId(store, { operationKey: key, receiptId });
    const claims = await claimDue(store, { worker: name, limit: 5 });
    await commit(store, (tx) =>
      tx.move(claims.map((claim) => moveOf(claim, { state: "done" }, { attempt: attemptEnd() }))),
    );
    await store.reader.receipts({ eventId: key }, { limit: 1 });
    done.steps += 1;
  };
  const ended = (async () => {
    while (!done.isOver) await step();
  })();
  ended.catch(() => undefined);
  return {
    done,
    stop: async () => {
      done.isOver = true;
      await ended;
    },
  };
}

test("a migration that a report keeps waiting lets everybody pass, and runs once the report is over", async () => {
  const url = await databaseUrl();
  const old = await openStore(url);
  await old.open();
  const loads = ["a", "b", "c"].map((name) => load(old, name));
  const sum = () => loads.reduce((steps, { done }) => steps + done.steps, 0);
  await eventually(() => sum() > 10);
  const held = await report(url, "obligations");
  const newer = await Promise.all([1, 2, 3].map(() => openStore(url, [...knownMigrations(), later])));
  const migrated = Promise.all(newer.map((store) => store.migrate()));
  // Each try is a transaction of its own, and work gets done between any two of them.
  for (let tries = 0; tries < 3; tries += 1) {
    const [before] = await waiting(url);
    const stepsBefore = sum();
    await eventually(
      async () => (await waiting(url)).some(({ begun }) => begun !== before?.begun) && sum() > stepsBefore,
      {
        withinMs: 20_000,
        what: "another try, and work that was done meanwhile",
      },
    );
  }
  await held.end();
  expect((await migrated).flat()).toEqual([later.name]);
  const stepsBefore = sum();
  await eventually(() => sum() > stepsBefore + 30);
  for (const each of loads) await each.stop();
  expect(await old.reader.counts()).toMatchObject({ deliveries: sum() });
  await newer[0]?.open();
});

/** Migrations that wait for a table just now. */
async function waiting(url: string): Promise<readonly { readonly begun: string }[]> {
  const where = "datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%ADD COLUMN note%'";
  return eventually(
    async () => {
      const found = await ask<{ begun: string }>(
        url,
        `SELECT xact_start::text AS begun FROM pg_stat_activity WHERE ${where}`,
      );
      return found.length > 0 && found;
    },
    { what: "a migration that waits for a table", withinMs: 20_000 },
  );
}

test("every statement of this version runs on a schema that a later one has added to, on the same connections", async () => {
  const url = await databaseUrl();
  const old = await openStore(url);
  await old.open();
  await useEverything(old);
  await readEverything(old);
  await (await openStore(url, [...knownMigrations(), later])).migrate();
  await ask(
    url,
    `TRUNCATE ${[...tables, "replays", "redeliveries", "mismatches"].map((name) => `counterfoil.${name}`).join()}`,
  );
  await useEverything(old);
  await readEverything(old);
});

test("who migrates waits for another who does, and finds it done", async () => {
  const url = await databaseUrl();
  const held = await report(url, "receipts");
  const [first, second] = await Promise.all([1, 2].map(() => openStore(url, [...knownMigrations(), later])));
  const both = Promise.all([first?.migrate(), second?.migrate()]);
  await untilBlocked(url, { count: 2 });
  await held.end();
  expect((await both).flat()).toEqual([later.name]);
});
