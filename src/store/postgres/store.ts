/**
 * The engine for many machines: any number of processes on one database, each with a pool.
 *
 * A transaction runs in READ COMMITTED on a connection of its own. Unique keys decide who is first,
 * predicates of the writes who may; nothing is read to be written back. What loses a deadlock or a
 * serialization race is told RACE_LOST and runs again as a whole. After an error that leaves a connection
 * doubtful it is ended, and the next transaction takes another: the store goes on by itself once the
 * server does.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { CounterfoilError } from "../../domain/errors.ts";
import type { Finding } from "../../domain/finding.ts";
import { defaults } from "../../domain/limits.ts";
import type { Probe } from "../../domain/probe.ts";
import { Hope } from "../hope.ts";
import type { Migration } from "../migrations.ts";
import type { Capabilities, News, Store, StoreLimits, StoreTx, Strand, TransactionOptions } from "../store.ts";
import type { BeginOptions } from "./begin.ts";
import { checkServer } from "./check-server.ts";
import { Connections, type PoolOptions } from "./connections.ts";
import type { DriverQuery, DriverResult, DriverSettings } from "./driver.ts";
import type { Doing } from "./errors.ts";
import type { Handle, ReadHandle } from "./handle.ts";
import { inspectServer } from "./inspect.ts";
import { LaneCursors } from "./lane-cursors.ts";
import { assertSchema, knownMigrations, migrateSchema } from "./migrations.ts";
import { lockKey } from "./open-receipts.ts";
import { PostgresReader } from "./reader.ts";
import { type Scope, Scopes } from "./scopes.ts";
import type { Line, Session } from "./session.ts";
import { inSchema, numbered, SchemaTexts } from "./statements.ts";
import { PostgresStrand } from "./strand.ts";
import { Strands } from "./strands.ts";
import { PostgresTransaction, type TransactionParts } from "./transaction.ts";
import { untilMigrated } from "./until-migrated.ts";
import { UsersTransaction } from "./users-transaction.ts";
import { readTypes } from "./values.ts";
import { Wakeups, type WakeupsOptions } from "./wakeups.ts";
import { withinUsers } from "./within.ts";

export interface StoreOptions {
  readonly pool: PoolOptions;
  readonly schema: string;
  /** How to reach the server past a pooler, which hears of notifications by itself. */
  readonly direct?: DriverSettings | undefined;
  readonly probe?: Probe | undefined;
  /** For tests: other migrations than the package's own. */
  readonly migrations?: readonly Migration[] | undefined;
  /** For tests: other times than the defaults. */
  readonly testing?: Partial<Pick<WakeupsOptions, "testEveryMs" | "testWithinMs">> | undefined;
  /** For tests: what the store's clock shows when the server's shows this. */
  readonly clock?: ((serverMs: number) => number) | undefined;
}

/** How often, and for how long, it is tested that notifications are heard. */
const testing = { testEveryMs: 30_000, testWithinMs: 5_000 };

/** Longest wait for a connection to send a hint on. */
const hintMs = 1_000;

/** Longest wait of `open`, of reads and of each try to migrate for a connection or a lock. */
const patienceMs = 30_000;

/** How long `migrate` tries to get the locks that it needs. */
const migratePatienceMs = 600_000;

/** What is done otherwise in a transaction. */
interface Scoped {
  readonly hope?: Hope | undefined;
  readonly plansKept?: boolean | undefined;
}

type Send = (query: DriverQuery, doing: Doing) => Promise<DriverResult>;

export class PostgresStore implements Store {
  readonly kind = "postgres";
  readonly capabilities: Capabilities = { concurrentWriters: true, handlersSettleAtOnce: false };
  readonly reader: PostgresReader = new PostgresReader((read) => this.#tracked(() => this.#reading(read)));
  readonly #options: StoreOptions;
  readonly #migrations: readonly Migration[];
  readonly #connections: Connections;
  readonly #texts: SchemaTexts;
  readonly #cursors: LaneCursors = new LaneCursors();
  readonly #wakeups: Wakeups;
  readonly #inside: AsyncLocalStorage<Scope> = new AsyncLocalStorage();
  /** What is under way, for `close` to wait for. */
  readonly #running: Set<Promise<unknown>> = new Set();
  #limits: StoreLimits = defaults;
  readonly #hope = new Hope();
  #isOpen = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#migrations = options.migrations ?? knownMigrations();
    this.#connections = new Connections(options.pool);
    this.#texts = new SchemaTexts(options.schema);
    const { settings, connectMs } = options.pool;
    const key = BigInt.asUintN(64, lockKey([options.schema, "news"]));
    this.#wakeups = new Wakeups({
      settings: options.direct ?? settings,
      connectMs,
      channel: `counterfoil_${key.toString(16)}`,
      notify: (channel, payload) => this.#notify(channel, payload),
      ...testing,
      ...options.testing,
    });
  }

  async open(limits: StoreLimits = defaults): Promise<void> {
    const { schema } = this.#options;
    await this.#reading(async (handle) => {
      await checkServer(handle);
      await assertSchema(handle, { schema, known: this.#migrations });
    });
    this.#limits = limits;
    this.#isOpen = true;
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await Promise.allSettled(this.#running);
    await this.#wakeups.close();
    await this.#connections.close();
  }

  async migrate(): Promise<readonly string[]> {
    return untilMigrated(() => this.#migrateOnce(), { withinMs: migratePatienceMs });
  }

  /** No bound on a statement: a migration may have much to do. */
  #migrateOnce(): Promise<readonly string[]> {
    const { schema } = this.#options;
    return this.#begun({ kind: "write", waitMs: patienceMs, statementMs: 0 }, async (session, now) => {
      const handle = this.#handleOf((query, doing) => session.send(query, doing), now);
      await checkServer(handle);
      const names = await migrateSchema(handle, { schema, known: this.#migrations, now });
      await this.#step("commit", () => session.commit());
      return names;
    });
  }

  async transaction<T>(body: (tx: StoreTx) => Promise<T>, options: TransactionOptions): Promise<T> {
    if (this.#inside.getStore()?.scopes.isOpen) {
      const message = "Cannot begin a transaction inside another of the same store: use the one that is open";
      throw new CounterfoilError("TRANSACTION_CONTROL", message);
    }
    return this.#tracked(() => this.#transact(body, options));
  }

  #transact<T>(body: (tx: StoreTx) => Promise<T>, options: TransactionOptions): Promise<T> {
    const longestMs = this.#options.pool.deadlines.statementMs;
    const statementMs = Math.min(options.statementMs ?? longestMs, longestMs);
    return this.#begun({ kind: "write", ...options, statementMs }, async (session, now) => {
      const { hopeful, plansKept } = options;
      const { scopes, parts, committed } = this.#scoped(session, now, {
        hope: hopeful ? this.#hope : undefined,
        plansKept,
      });
      const tx = new PostgresTransaction(parts);
      const value = await scopes.transaction(() => body(tx));
      await this.#step("commit", () => session.commit());
      for (const then of committed) then();
      if (hopeful) this.#hope.keep();
      return value;
    });
  }

  async within<T>(given: unknown, body: (tx: StoreTx) => Promise<T>, { waitMs }: TransactionOptions): Promise<T> {
    const { schema, clock } = this.#options;
    return this.#tracked(() =>
      withinUsers(given, { schema, waitMs }, async (session, serverMs) => {
        const { scopes, parts } = this.#scoped(session, clock?.(serverMs) ?? serverMs);
        return scopes.transaction(() => body(new UsersTransaction(parts)));
      }),
    );
  }

  inspect(): Promise<readonly Finding[]> {
    return this.#tracked(() => this.#reading(inspectServer));
  }

  /** What a transaction on a connection is made of, and what is to be done once it is committed. */
  #scoped(session: Line, now: number, { hope, plansKept }: Scoped = {}) {
    const committed: (() => void)[] = [];
    const isHopeful = hope?.isEarned;
    const partsOn = (line: Line): TransactionParts => {
      const scopes = new Scopes({
        session: line,
        inside: this.#inside,
        attemptMs: this.#limits.handlerMs,
        isHopeful,
        onUndone: () => hope?.lose(),
      });
      const ask = (query: DriverQuery): Promise<DriverResult> =>
        this.#step("query", () => scopes.run(query, "user statement"));
      const { run } = this.#handleOf((query, doing) => scopes.run(query, doing), now, plansKept);
      return { scopes, ask, schema: this.#options.schema, handle: this.#writing(run, now, committed) };
    };
    const parts = partsOn(session);
    const { scopes } = parts;
    if (!isHopeful) return { scopes, parts, committed };
    const strands = new Strands(session);
    const strand = (): Strand => {
      const line = strands.next();
      return new PostgresStrand(line, { parts: partsOn(line), onFailed: (error) => scopes.spoil(error) });
    };
    return { scopes, parts: { ...parts, strand }, committed };
  }

  #writing(run: Handle["run"], now: number, committed: (() => void)[]): Handle {
    return {
      run,
      // The server has one clock and no boot that its leases would depend on.
      stamp: { wallMs: now, monotonicMs: now, bootId: "" },
      schema: this.#options.schema,
      limits: this.#limits,
      cursors: this.#cursors,
      say: (news) => void committed.push(() => this.#wakeups.say(news)),
      afterCommit: (then) => void committed.push(then),
    };
  }

  listen(heard: (news: News) => void): () => void {
    return this.#wakeups.listen(heard);
  }

  /** By itself, on any connection that is free soon. */
  async #notify(channel: string, payload: string): Promise<void> {
    const session = await this.#connections.take(hintMs);
    try {
      await session.send({ text: "SELECT pg_notify($1, $2)", values: [channel, payload] }, "statement");
    } finally {
      session.release();
    }
  }

  #reading<T>(read: (handle: ReadHandle) => Promise<T>): Promise<T> {
    const { statementMs } = this.#options.pool.deadlines;
    return this.#begun({ kind: "read", waitMs: patienceMs, statementMs }, async (session, now) => {
      const value = await read(this.#handleOf((query, doing) => session.send(query, doing), now));
      await session.send({ text: "COMMIT" }, "statement");
      return value;
    });
  }

  /** Runs what commits by itself in a transaction that is begun, and rolled back where it rejects. */
  async #begun<T>(
    {
      waitMs,
      lockMs: lockMsMax = waitMs,
      kind,
      statementMs,
      fleeting,
      plansKept,
    }: Omit<BeginOptions, "lockMs"> & TransactionOptions,
    run: (session: Session, now: number) => Promise<T>,
  ): Promise<T> {
    const deadlineMs = performance.now() + waitMs;
    const session = await this.#connections.take(waitMs);
    try {
      const lockMs = Math.min(deadlineMs - performance.now(), lockMsMax);
      const begin = { kind, lockMs, statementMs, fleeting, plansKept };
      const serverMs = await this.#step("begin", () => session.begin(begin));
      return await run(session, this.#options.clock?.(serverMs) ?? serverMs);
    } catch (error) {
      await session.rollBack();
      throw error;
    } finally {
      session.release();
    }
  }

  /** What is asked of a store that is not open is refused; `close` waits for what was begun before. */
  async #tracked<T>(run: () => Promise<T>): Promise<T> {
    if (!this.#isOpen) {
      throw new CounterfoilError("STORE_UNAVAILABLE", "Cannot use the store: it is not open; call open() first");
    }
    const running = run();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  #handleOf(send: Send, now: number, plansKept = false): ReadHandle {
    const ask = async <Row>(query: DriverQuery): Promise<readonly Row[]> =>
      (await send({ types: readTypes, ...query }, "statement")).rows as readonly Row[];
    return {
      run: (statement, values) => {
        const name = statement.isSteady || plansKept ? statement.name : undefined;
        return this.#step(statement.name, () => ask({ text: this.#texts.of(statement), values, name }));
      },
      runText: (text, values) => ask({ text: numbered(inSchema(text, this.#options.schema)), values }),
      now,
    };
  }

  /** Reports a step to the probe, before and after. */
  async #step<T>(name: string, run: () => Promise<T>): Promise<T> {
    const { probe } = this.#options;
    if (!probe) return run();
    probe(`postgres.${name}:before`);
    const value = await run();
    probe(`postgres.${name}:after`);
    return value;
  }
}
