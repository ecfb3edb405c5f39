/**
 * The seam between the tests and the engine that they stand on. A test names no engine: it asks for a
 * database and gets one of the engine of its run, which `vitest.config.ts` sets for each of its
 * projects, and opens stores by the database's address, in this process and in others.
 */
import type { Store } from "counterfoil";
import { sqlite } from "counterfoil/sqlite";
import type { Clock } from "../../src/domain/clock.ts";
import type { Probe } from "../../src/domain/probe.ts";
import { sqliteDatabase } from "./sqlite-database.ts";
import type { TemporaryDatabase, TemporaryDatabaseOptions } from "./temporary-database.ts";

export type { TemporaryDatabase };

/** What this run stands on, and the processes that it starts. */
export const engine: "sqlite" | "postgres" =
  process.env["COUNTERFOIL_TEST_ENGINE"] === "postgres" ? "postgres" : "sqlite";

export interface StoreAtOptions {
  readonly clock?: Clock | undefined;
  readonly probe?: Probe | undefined;
}

export function temporaryDatabase(options: TemporaryDatabaseOptions = {}): Promise<TemporaryDatabase> {
  return sqliteDatabase(options);
}

/** A store over the database at this address. */
export function storeAt(address: string, { clock, probe }: StoreAtOptions = {}): Store {
  return sqlite(address, { ...(clock && { clock }), ...(probe && { probe }) });
}

/** The name that this engine gives to one of our tables. */
export function ours(table: string): string {
  return engine === "postgres" ? `counterfoil.${table}` : `counterfoil_${table}`;
}
