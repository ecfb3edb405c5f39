import type { Clock } from "../../domain/clock.ts";
import type { Probe } from "../../domain/probe.ts";
import { systemClock } from "../../domain/system-clock.ts";
import type { Store } from "../store.ts";
import { SqliteStore } from "./store.ts";

/** How the file is opened; the defaults suit a local disk. */
export interface SqliteOptions {
  /** Open a file on a network file system although SQLite can lose data there. Default `false`. */
  readonly allowNetworkFileSystem?: boolean;
  /** Page size in bytes of a file that is created; an existing file keeps its own. Default 4096, which is SQLite's own: three events of 1 KiB fit on a page. */
  readonly pageBytes?: number;
  /** The clocks that instants and leases are read from. Default: the machine's own. */
  readonly clock?: Clock;
  /** Called before and after every statement of the engine's own, for crash tests. */
  readonly probe?: Probe;
}

/** Measured on a small machine: halves the time of a commit against SQLite's own 4 MiB, and costs as much disk. */
const logBytes = 32 * 1024 * 1024;

/**
 * The embedded engine: keeps everything in one SQLite file, beside the application's own tables.
 *
 * Several processes of one machine may use the file at once. `":memory:"` keeps everything in this
 * process, for tests: nothing survives it.
 *
 * @throws TypeError when there is no path.
 * @example
 * ```ts no-run
 * const app = defineApp({ store: sqlite("shop.db"), connections: [], effects: [] });
 * ```
 */
export function sqlite(path: string, options: SqliteOptions = {}): Store {
  if (typeof path !== "string" || path === "") {
    throw new TypeError('Cannot use a SQLite file: it has no path; give one, such as sqlite("shop.db")');
  }
  const { allowNetworkFileSystem = false, pageBytes = 4096, clock = systemClock(), probe } = options;
  return new SqliteStore({ path, allowNetworkFileSystem, pageBytes, logBytes, clock, probe });
}
