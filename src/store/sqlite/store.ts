/**
 * The embedded engine: one connection that writes, owned by this object, one that only reads, and any
 * number of other processes on the same file.
 *
 * A write transaction waits its turn among those of this process, then for the lock of the file. It
 * takes that lock at BEGIN, so that no statement inside can meet another writer. After an error that
 * makes the connection doubtful it is closed, and the next transaction opens it anew: the store goes
 * on by itself once the cause is gone.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../domain/clock.ts";
import { CounterfoilError } from "../../domain/errors.ts";
import type { Finding } from "../../domain/finding.ts";
import type { Stamp } from "../../domain/instant.ts";
import { defaults } from "../../domain/limits.ts";
import { Hope } from "../hope.ts";
import type { Migration } from "../migrations.ts";
import type { Capabilities, Store, StoreLimits, StoreTx, TransactionOptions } from "../store.ts";
import { Turn } from "../turn.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { Connection } from "./connection.ts";
import { Connections, type FileOptions } from "./connections.ts";
import { storeError, type Doing } from "./errors.ts";
import type { ReadHandle } from "./handle.ts";
import { inspectFile } from "./inspect.ts";
import { LogCopier } from "./log-copier.ts";
import { assertSchema, knownMigrations, migrateSchema } from "./migrations.ts";
import { SqliteReader } from "./reader.ts";
import { Scopes } from "./scopes.ts";
import { sql, type Sql } from "./statements.ts";
import { SqliteTransaction } from "./transaction.ts";
import { untilFree } from "./until-free.ts";
import { withinUsers } from "./within.ts";

export interface StoreOptions extends FileOptions {
  readonly clock: Clock;
  /** For tests: other migrations than the package's own. */
  readonly migrations?: readonly Migration[] | undefined;
}

const begin = sql("begin", "BEGIN IMMEDIATE");
const commit = sql("commit", "COMMIT");
const rollback = sql("rollback", "ROLLBACK");
const beginRead = sql("read.begin", "BEGIN");
const endRead = sql("read.end", "COMMIT");

/** Longest wait of `open`, `migrate`, `close` and reads in memory for others. */
const patienceMs = 30_000;

export class SqliteStore implements Store {
  readonly kind = "sqlite";
  readonly capabilities: Capabilities = { concurrentWriters: false, handlersSettleAtOnce: true };
  readonly reader: SqliteReader = new SqliteReader((read) => this.#read(read));
  readonly clock: Clock;
  readonly #migrations: readonly Migration[];
  readonly #connections: Connections;
  readonly #turn: Turn = new Turn();
  readonly #checkpoints: Checkpoints;
  readonly #inside: AsyncLocalStorage<Scopes> = new AsyncLocalStorage();
  readonly #hope = new Hope();
  #limits: StoreLimits = defaults;
  #isOpen = false;
  /** The connection whose schema was found right. */
  #checked: Connection | undefined;

  constructor(options: StoreOptions) {
    this.clock = options.clock;
    this.#migrations = options.migrations ?? knownMigrations();
    this.#connections = new Connections(options);
    this.#checkpoints = new Checkpoints(this.#turn, new LogCopier(this.#connections.path));
  }

  missing(): string | undefined {
    const { path, isMemory } = this.#connections;
    // Without its folder nothing can be created: opening says so.
    if (isMemory || existsSync(path) || !existsSync(dirname(path))) return undefined;
    return `there is no file ${path}`;
  }

  async open(limits: StoreLimits = defaults): Promise<void> {
    this.#limits = limits;
    await this.#inTurn(patienceMs, async (deadlineMs) => {
      this.#assertSchema(await this.#connections.writer(deadlineMs));
      this.#isOpen = true;
    });
  }

  async close(): Promise<void> {
    await this.#inTurn(patienceMs, async () => {
      this.#isOpen = false;
      await this.#checkpoints.stop();
      await this.#connections.close();
    });
  }

  async migrate(): Promise<readonly string[]> {
    return this.#inTurn(patienceMs, async (deadlineMs) => {
      const connection = await this.#connections.writer(deadlineMs);
      const options = { known: this.#migrations, now: this.clock.wallMs() };
      const { value, durable } = await this.#locked(connection, {
        deadlineMs,
        run: async () => migrateSchema(connection, options),
      });
      await durable;
      return value;
    });
  }

  async transaction<T>(body: (tx: StoreTx) => Promise<T>, options: TransactionOptions): Promise<T> {
    const { waitMs, fleeting, hopeful } = options;
    if (this.#inside.getStore()?.isOpen) {
      const message = "Cannot begin a transaction inside another of the same store: use the one that is open";
      throw new CounterfoilError("TRANSACTION_CONTROL", message);
    }
    const { value, durable } = await this.#inTurn(waitMs, async (deadlineMs) => {
      this.#assertOpen();
      const connection = await this.#connections.writer(deadlineMs);
      if (this.#checked !== connection) this.#assertSchema(connection);
      const run = (): Promise<T> => this.#run(connection, body, hopeful ? this.#hope : undefined);
      const committed = await this.#locked(connection, { deadlineMs, run, fleeting });
      if (hopeful) this.#hope.keep();
      this.#checkpoints.committed(connection);
      return committed;
    });
    // Out of its turn: the next transaction runs while the disk works.
    await durable;
    return value;
  }

  async within<T>(given: unknown, body: (tx: StoreTx) => Promise<T>): Promise<T> {
    this.#assertOpen();
    return withinUsers(given, this.#connections.path, (connection) => this.#run(connection, body));
  }

  inspect(): Promise<readonly Finding[]> {
    return this.#read((handle) => inspectFile(handle, this.#connections.path));
  }

  #run<T>(connection: Connection, body: (tx: StoreTx) => Promise<T>, hope?: Hope): Promise<T> {
    const scopes = new Scopes(connection, hope);
    const tx = new SqliteTransaction(connection, { scopes, stamp: this.#stamp(), limits: this.#limits });
    return this.#inside.run(scopes, () => scopes.transaction(() => body(tx)));
  }

  /**
   * One transaction of the writing connection: BEGIN once the file's lock is free, then COMMIT or ROLLBACK.
   * It counts as committed once `durable` resolves.
   */
  async #locked<T>(
    connection: Connection,
    {
      deadlineMs,
      run,
      fleeting,
    }: { readonly deadlineMs: number; readonly run: () => Promise<T>; readonly fleeting?: boolean | undefined },
  ): Promise<{ readonly value: T; readonly durable: Promise<void> | undefined }> {
    await untilFree(() => control(connection, begin, "begin"), deadlineMs);
    let value: T;
    try {
      value = await run();
    } catch (error) {
      this.#rollBack(connection);
      throw error;
    }
    try {
      control(connection, commit, "commit");
    } catch (error) {
      this.#rollBack(connection);
      throw error;
    }
    return { value, durable: fleeting ? undefined : connection.log?.flush() };
  }

  /** A connection that cannot even roll back is given up: closing it does, and the error that led here comes out. */
  #rollBack(connection: Connection): void {
    if (!connection.database.isTransaction) return;
    try {
      control(connection, rollback, "rollback");
    } catch {
      this.#connections.dropWriter();
    }
  }

  async #inTurn<T>(waitMs: number, run: (deadlineMs: number) => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + waitMs;
    const release = await this.#turn.take(waitMs);
    try {
      return await run(deadlineMs);
    } catch (error) {
      this.#connections.doubtWriter(error);
      throw error;
    } finally {
      release();
    }
  }

  /** Reads from one state of the database; in memory there is one connection only, so that reads take turns. */
  async #read<T>(read: (handle: ReadHandle) => T): Promise<T> {
    this.#assertOpen();
    if (this.#connections.isMemory) {
      return this.#inTurn(patienceMs, async (deadlineMs) =>
        this.#readFrom(await this.#connections.writer(deadlineMs), read),
      );
    }
    const deadlineMs = performance.now() + patienceMs;
    try {
      return await untilFree(() => this.#readFrom(this.#connections.reader(), read), deadlineMs);
    } catch (error) {
      this.#connections.doubtReader(error);
      throw error;
    }
  }

  #readFrom<T>(connection: Connection, read: (handle: ReadHandle) => T): T {
    const { database, statements } = connection;
    control(connection, beginRead, "begin");
    try {
      const stamp = (): Stamp => this.#stamp();
      return read({ statement: (definition) => statements.own(definition), database, stamp });
    } catch (error) {
      throw storeError(error, "statement");
    } finally {
      if (database.isTransaction) control(connection, endRead, "commit");
    }
  }

  #stamp(): Stamp {
    const { bootId } = this.clock;
    return { wallMs: Math.floor(this.clock.wallMs()), monotonicMs: Math.floor(this.clock.monotonicMs()), bootId };
  }

  #assertOpen(): void {
    if (this.#isOpen) return;
    throw new CounterfoilError("STORE_UNAVAILABLE", "Cannot use the store: it is not open; call open() first");
  }

  #assertSchema(connection: Connection): void {
    try {
      assertSchema(connection, this.#migrations);
    } catch (error) {
      throw storeError(error, "open", { path: this.#connections.path });
    }
    this.#checked = connection;
  }
}

function control(connection: Connection, definition: Sql, doing: Doing): void {
  try {
    connection.statements.own(definition).run();
  } catch (error) {
    throw storeError(error, doing);
  }
}
