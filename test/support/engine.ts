/**
 * The seam between the tests and the engine that they stand on. A test names no engine: it asks for a
 * database and gets one of the engine of its run, which `vitest.config.ts` sets for each of its
 * projects, and opens stores by the database's address, in this process and in others.
 */
import type { Store } from "counterfoil";
import { sqlite } from "counterfoil/sqlite";
import type { Clock } from "../../src/domain/clock.ts";
import type { Probe } from "../../src/domain/probe.ts";
import { storeAt as postgresStoreAt } from "../../src/store/postgres/bundle.conformance.ts";
import { postgresDatabase } from "./postgres-database.ts";
import { sqliteDatabase } from "./sqlite-database.ts";
import type { TemporaryDatabase, TemporaryDatabaseOptions } from "./temporary-database.ts";

export type { TemporaryDatabase };

/** What this run stands on, and the processes that it starts. */
export const engine: "sqlite" | "postgres" =
  process.env["COUNTERFOIL_TEST_ENGINE"] === "postgres" ? "postgres" : "sqlite";

export interface StoreAtOptions {
  readonly clock?: Clock | undefined;
  /** What the server's clock shows, where a server has it; the given clock's time unless the test tells. */
  readonly serverMs?: (() => number) | undefined;
  readonly probe?: Probe | undefined;
}

export function temporaryDatabase(options: TemporaryDatabaseOptions = {}): Promise<TemporaryDatabase> {
  return engine === "postgres" ? postgresDatabase() : sqliteDatabase(options);
}

/** A store over the database at this address. */
export function storeAt(address: string, { clock, probe, serverMs }: StoreAtOptions = {}): Store {
  const serverClock = serverMs ?? (clock && serverClockOf(clock));
  if (address.startsWith("postgres:")) return postgresStoreAt(address, { clock: serverClock, probe });
  return sqlite(address, { ...(clock && { clock }), ...(probe && { probe }) });
}

const steps: WeakMap<Clock, number> = new WeakMap();

/** The server's clock beside a machine's: time goes on for both, and nobody sets it. */
function serverClockOf(clock: Clock): () => number {
  const ahead = steps.get(clock) ?? clock.wallMs() - clock.monotonicMs();
  steps.set(clock, ahead);
  return () => clock.monotonicMs() + ahead;
}

/** Whether leases and key lives go by the machine's own clocks and boot; else a server has the only clock. */
export const machineClocks: boolean = engine === "sqlite";

/** Whether a handler that waits for anything but its transaction is found at once, not by a time limit. */
export const handlersSettleAtOnce: boolean = engine === "sqlite";

/** The name that this engine gives to one of our tables. */
export function ours(table: string): string {
  return engine === "postgres" ? `counterfoil.${table}` : `counterfoil_${table}`;
}
