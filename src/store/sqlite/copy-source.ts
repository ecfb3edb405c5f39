/**
 * A file that a store is copied from, while others use it.
 *
 * From `begin` on, triggers note which units change, so that a unit may be read at any time: what changes
 * afterwards is noted and read once more. `lock` keeps every writer out, until `move` closes the store for
 * good or `unlock` gives it back as it was. The process that holds the lock may die at any moment: SQLite
 * then rolls back, and the store goes on.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { Clock } from "../../domain/clock.ts";
import { CounterfoilError, hasCode } from "../../domain/errors.ts";
import type { Stamp } from "../../domain/instant.ts";
import type { Probe } from "../../domain/probe.ts";
import { systemClock } from "../../domain/system-clock.ts";
import {
  type CopiedBatch,
  type CopiedRow,
  type CopiedValue,
  keyText,
  type RowCounts,
  type TableName,
  tableNames,
  type UnitKey,
  type UnitKind,
  unitTables,
} from "../copying.ts";
import { type Mark, markNumbers } from "../marks.ts";
import { forgetChanges, noteChanges, notesAll, refuseWrites } from "./copy-changes.ts";
import { copiedRow, countQuery, keysQuery, unitQuery } from "./copy-queries.ts";
import { type Doing, storeError } from "./errors.ts";
import { assertSchema, knownMigrations } from "./migrations.ts";
import type { Value } from "./statements.ts";
import { untilFree } from "./until-free.ts";

export interface CopySourceOptions {
  /** The clocks that the file's leases were taken by. Default: the machine's own. */
  readonly clock?: Clock | undefined;
  readonly probe?: Probe | undefined;
}

/** Bounds of what is read at once, so that memory is as well. */
export interface BatchBounds {
  readonly units: number;
  readonly bytes: number;
}

/** Longest wait for others who write to the file. */
const patienceMs = 30_000;

/** Units behind a key. What comes behind the end afterwards is noted as a change: nobody need run after it. */
export interface Walk extends CopiedBatch {
  readonly isEnd: boolean;
}

/** Units that changed, up to a number. */
export interface Changes {
  readonly upTo: number;
  readonly keys: ReadonlyMap<UnitKind, readonly UnitKey[]>;
  readonly count: number;
}

export class CopySource {
  readonly path: string;
  readonly #clock: Clock;
  readonly #probe: Probe | undefined;
  readonly #database: DatabaseSync;
  readonly #statements: Map<string, StatementSync> = new Map();

  /** @throws CounterfoilError where there is no such file, or it is no store of this version's. */
  constructor(path: string, { clock = systemClock(), probe }: CopySourceOptions = {}) {
    this.path = resolve(path);
    this.#clock = clock;
    this.#probe = probe;
    if (!existsSync(this.path)) {
      throw new CounterfoilError("NOT_FOUND", `Cannot copy ${this.path}: there is no such file; give the store's path`);
    }
    this.#database = openExisting(this.path);
  }

  close(): void {
    this.#database.close();
  }

  /** What a copy has made of the store; `undefined` where none was begun. */
  mark(): Mark | undefined {
    const columns = "number, name, checksum, breaking";
    const row = this.#get(`SELECT ${columns} FROM counterfoil_migrations WHERE number = ?`, markNumbers.moving);
    return row && ({ ...row, breaking: row["breaking"] === 1 } as unknown as Mark);
  }

  /** Begins to note changes for a copy to this place, unless it does already; gives what names the copy. */
  async begin(to: string): Promise<string> {
    return this.#writing("begin", () => {
      const known = this.mark();
      if (known && !notesAll(this.#database)) throw otherVersion();
      if (known) return known.checksum;
      const id = randomUUID();
      noteChanges(this.#database);
      this.#run(
        "INSERT INTO counterfoil_migrations (number, name, checksum, breaking, applied_at) VALUES (?, ?, ?, 0, ?)",
        markNumbers.moving,
        to,
        id,
        this.stamp().wallMs,
      );
      return id;
    });
  }

  /** Takes everything out of the file that `begin` put into it; gives whether there was something. */
  async abandon(): Promise<boolean> {
    return this.#writing("abandon", () => {
      const known = this.mark();
      if (known?.breaking) {
        throw new CounterfoilError(
          "STORE_MOVED",
          `Cannot give the copy up: the store was moved to ${known.name} already`,
        );
      }
      forgetChanges(this.#database);
      this.#run("DELETE FROM counterfoil_migrations WHERE number = ?", markNumbers.moving);
      return known !== undefined;
    });
  }

  /** The next units of a kind behind a key, as many as the bounds allow. */
  readAfter(kind: UnitKind, after: UnitKey | null, bounds: BatchBounds): Walk {
    return this.#reading(() => {
      const keys = this.#all(keysQuery(kind, after === null ? "first" : "after"), ...(after ?? []), bounds.units);
      const batch = this.#units(kind, keys as UnitKey[], bounds);
      return { ...batch, isEnd: batch.keys.length === keys.length && keys.length < bounds.units };
    });
  }

  /** The first of these units, as many as the bounds allow, at least one. */
  read(kind: UnitKind, keys: readonly UnitKey[], bounds: BatchBounds): CopiedBatch {
    return this.#reading(() => this.#units(kind, keys, bounds));
  }

  /** The oldest changes that are noted. */
  changes(limit: number): Changes {
    const rows = this.#all("SELECT number, kind, key FROM counterfoil_changes ORDER BY number LIMIT +?", limit);
    const keys = new Map<UnitKind, UnitKey[]>();
    for (const [, kind, key] of rows as [number, UnitKind, string][]) {
      keys.set(kind, [...(keys.get(kind) ?? []), JSON.parse(key) as UnitKey]);
    }
    return { upTo: Number(rows.at(-1)?.[0] ?? 0), keys, count: rows.length };
  }

  /** How many changes are noted. */
  changeCount(): number {
    return Number(this.#get("SELECT count(*) AS count FROM counterfoil_changes")?.["count"]);
  }

  /** Whether a change of a unit is noted. */
  changed(kind: UnitKind): (key: UnitKey) => boolean {
    const rows = this.#all("SELECT key FROM counterfoil_changes WHERE kind = ?", kind) as [string][];
    const keys = new Set(rows.map(([key]) => keyText(JSON.parse(key) as UnitKey)));
    return (key) => keys.has(keyText(key));
  }

  /** Forgets changes that were copied. What changed once more since has a later number. */
  async forget(upTo: number): Promise<void> {
    await this.#writing("forget", () => this.#run("DELETE FROM counterfoil_changes WHERE number <= ?", upTo));
  }

  counts(): RowCounts {
    return this.#reading(() =>
      Object.fromEntries(tableNames.map((name) => [name, Number(this.#get(countQuery(name))?.["count"])])),
    ) as RowCounts;
  }

  /** Keeps all writers out. @throws CounterfoilError STORE_BUSY. */
  async lock(): Promise<void> {
    await untilFree(() => this.#control("BEGIN IMMEDIATE", "begin"), performance.now() + patienceMs);
  }

  /** Lets writers in again, as if nothing had been. */
  unlock(): void {
    if (this.#database.isTransaction) this.#control("ROLLBACK", "rollback");
  }

  /** How long the holders of leases may still go on, at the most: those of this boot of the machine live, if any do. */
  leaseMs(): number {
    const { bootId, monotonicMs } = this.stamp();
    const live = "lease_boot = ? AND lease_from <= ? AND lease_until > ?";
    const row = this.#get(
      `SELECT coalesce(max(lease_until), 0) AS until FROM counterfoil_obligations WHERE ${live}`,
      bootId,
      monotonicMs,
      monotonicMs,
    );
    return Math.max(0, Number(row?.["until"]) - monotonicMs);
  }

  /** Closes the store for good and ends the lock: whoever has it open, or opens it, is told where it went. */
  move(to: string): void {
    forgetChanges(this.#database);
    refuseWrites(this.#database, to);
    this.#run("UPDATE counterfoil_migrations SET breaking = 1, name = ? WHERE number = ?", to, markNumbers.moving);
    this.#step("move", () => this.#control("COMMIT", "commit"));
  }

  /** A reading of the clocks that leases were taken by. */
  stamp(): Stamp {
    const { bootId } = this.#clock;
    return { wallMs: Math.floor(this.#clock.wallMs()), monotonicMs: Math.floor(this.#clock.monotonicMs()), bootId };
  }

  #units(kind: UnitKind, wanted: readonly UnitKey[], bounds: BatchBounds): CopiedBatch {
    const rows: Partial<Record<TableName, CopiedRow[]>> = Object.fromEntries(
      unitTables[kind].map((name) => [name, []]),
    );
    const keys: UnitKey[] = [];
    let bytes = 0;
    for (const key of wanted) {
      if (keys.length >= bounds.units || bytes >= bounds.bytes) break;
      keys.push(key);
      for (const name of unitTables[kind]) {
        for (const values of this.#all(unitQuery(name), ...key)) {
          const row = copiedRow(name, values);
          rows[name]?.push(row);
          bytes += rowBytes(row);
        }
      }
    }
    return { kind, keys, rows };
  }

  #reading<T>(read: () => T): T {
    if (this.#database.isTransaction) return read();
    this.#control("BEGIN", "begin");
    try {
      return read();
    } finally {
      this.#control("COMMIT", "commit");
    }
  }

  async #writing<T>(name: string, write: () => T): Promise<T> {
    await this.lock();
    try {
      const value = write();
      this.#step(name, () => this.#control("COMMIT", "commit"));
      return value;
    } finally {
      this.unlock();
    }
  }

  #step(name: string, run: () => void): void {
    this.#probe?.(`copy.source.${name}:before`);
    run();
    this.#probe?.(`copy.source.${name}:after`);
  }

  #control(text: string, doing: Doing): void {
    try {
      this.#database.exec(text);
    } catch (error) {
      throw storeError(error, doing);
    }
  }

  #get(text: string, ...values: Value[]): Record<string, unknown> | undefined {
    return this.#ask(() => this.#database.prepare(text).get(...values)) as Record<string, unknown> | undefined;
  }

  #all(text: string, ...values: Value[]): Value[][] {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#ask(() => this.#database.prepare(text));
      statement.setReturnArrays(true);
      this.#statements.set(text, statement);
    }
    const prepared = statement;
    return this.#ask(() => prepared.all(...values)) as unknown as Value[][];
  }

  #run(text: string, ...values: Value[]): void {
    this.#ask(() => this.#database.prepare(text).run(...values));
  }

  #ask<T>(ask: () => T): T {
    try {
      return ask();
    } catch (error) {
      throw storeError(error, "statement");
    }
  }
}

/** A file that is there, with what is committed on the disk once COMMIT returns. */
function openExisting(path: string): DatabaseSync {
  const file = pathToFileURL(path);
  file.searchParams.set("mode", "rw");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = 1");
    assertMigrated(database);
    return database;
  } catch (error) {
    database?.close();
    throw storeError(error, "open", { path });
  }
}

/** A store that was moved is opened all the same: the end of its copy may be due. */
function assertMigrated(database: DatabaseSync): void {
  try {
    assertSchema({ database }, knownMigrations());
  } catch (error) {
    if (!hasCode(error, "STORE_MOVED")) throw error;
  }
}

function otherVersion(): CounterfoilError {
  return new CounterfoilError(
    "NOT_ALLOWED",
    "Cannot go on with the copy: another version has begun it; give it up with --abandon, and begin anew",
  );
}

function rowBytes(row: CopiedRow): number {
  return row.reduce<number>((sum, value) => sum + valueBytes(value), 0);
}

function valueBytes(value: CopiedValue): number {
  return typeof value === "string" || value instanceof Uint8Array ? value.length : 8;
}
