/**
 * What keeps others out of a schema while a store is copied into it: a mark among its migrations, for who
 * opens it, and triggers that refuse every write but the copy's own, for who had it open already. A worker
 * that claimed what is half there would do what another still does.
 */

import { copiedTables, type TableName, tableNames } from "../copying.ts";
import { type Mark, markNumbers } from "../marks.ts";
import type { ReadHandle } from "./handle.ts";
import { sql } from "./statements.ts";

type Handle = Pick<ReadHandle, "run" | "runText">;

/** Where a copy says who it is, for the length of a transaction. */
export const copySetting = "counterfoil_copy.id";

const selectMark = sql(
  "copy.mark",
  "SELECT number, name, checksum, breaking FROM counterfoil.migrations WHERE number = $1",
);

const insertMark = sql(
  "copy.mark-insert",
  "INSERT INTO counterfoil.migrations (number, name, checksum, breaking, applied_at) VALUES ($1, $2, $3, true, $4)",
);

const openMark = sql("copy.mark-open", "UPDATE counterfoil.migrations SET breaking = false WHERE number = $1");

const selectTables = sql(
  "copy.tables",
  `SELECT c.relname AS name FROM pg_class AS c
   WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'counterfoil.migrations'::regclass)
     AND c.relkind = 'r' AND c.relname NOT IN ('migrations', 'copying') ORDER BY c.relname`,
);

/** Says where the copy is: its turn, so that of two that run at once one finds out, and how far each kind was walked. */
const createCopying = "CREATE TABLE counterfoil.copying (turn bigint NOT NULL, walked text NOT NULL)";

const refuse = `CREATE FUNCTION counterfoil.refuse_use() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF current_setting('${copySetting}', true) IS DISTINCT FROM
    (SELECT checksum FROM counterfoil.migrations WHERE number = ${markNumbers.copied}) THEN
    RAISE 'The store is a copy that is not all there yet' USING ERRCODE = 'CF001';
  END IF;
  RETURN NULL;
END $$`;

/** What a copy has made of the schema; `undefined` where there was none. */
export async function readMark(handle: Handle): Promise<Mark | undefined> {
  const [mark] = await handle.run<Mark>(selectMark, [markNumbers.copied]);
  return mark;
}

/** Closes the schema to everybody but this copy, in the caller's transaction. */
export async function closeSchema(
  handle: Handle,
  { id, from, now }: { readonly id: string; readonly from: string; readonly now: number },
): Promise<void> {
  await handle.run(insertMark, [markNumbers.copied, from, id, now]);
  await handle.runText(refuse, []);
  for (const { name } of await handle.run<{ name: string }>(selectTables, [])) {
    await handle.runText(
      `CREATE TRIGGER refuse_use BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON counterfoil.${name}
       FOR EACH STATEMENT EXECUTE FUNCTION counterfoil.refuse_use()`,
      [],
    );
  }
  await handle.runText(createCopying, []);
  await handle.runText("INSERT INTO counterfoil.copying (turn, walked) VALUES (0, '{}')", []);
}

/** Opens the schema to everybody, in the caller's transaction. */
export async function openSchema(handle: Handle): Promise<void> {
  // The triggers go with the function.
  await handle.runText("DROP FUNCTION counterfoil.refuse_use() CASCADE", []);
  await handle.runText("DROP TABLE counterfoil.copying", []);
  await handle.run(openMark, [markNumbers.copied]);
}

/** A table of the schema that holds a row, of those that are copied. */
export async function usedTable(handle: Handle): Promise<TableName | undefined> {
  for (const name of tableNames) {
    const rows = await handle.runText(`SELECT 1 FROM counterfoil.${name} LIMIT 1`, []);
    if (rows.length > 0) return name;
  }
  return undefined;
}

/** Tables that give their rows numbers; the next one is behind those that were copied. */
export const numberedTables: readonly TableName[] = tableNames.filter(
  (name) => copiedTables[name].owner.join() === "id",
);
