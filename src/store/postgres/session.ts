/**
 * One connection for the length of one transaction.
 *
 * Statements are sent without waiting for those before them, all of one turn in one packet, and answered in
 * order, so that one that needs no answer of its own (a savepoint, its release) costs no round trip. A server from which no answer comes within the deadline
 * is given up: its own timeouts bound neither a wait for a replica at COMMIT nor a network that swallows
 * packets. A connection that was given up, or that is in an unknown state, never goes back to the pool.
 */
import { CounterfoilError } from "../../domain/errors.ts";
import { type BeginOptions, beginText, readBeginning } from "./begin.ts";
import type { DriverNotice, DriverQuery, DriverResult, PooledClient } from "./driver.ts";
import { coded, type Doing, isLoss, storeError } from "./errors.ts";
import { tidyText } from "./leavings.ts";
import { readTypes } from "./values.ts";

export interface Deadlines {
  /** Time of one statement, kept by the server; the client waits a little longer for its word. */
  readonly statementMs: number;
  /** Time of COMMIT, kept by the client alone. */
  readonly commitMs: number;
  /** Time of BEGIN, kept by the client alone. Default: that of a statement. */
  readonly beginMs?: number;
}

export interface SessionOptions {
  readonly deadlines: Deadlines;
  /** Called once the connection is given back. */
  readonly done: () => void;
}

/** Part of a bound that is near enough to it. */
const spare = 0.9;

/** How much longer the client waits than the server may take. */
const marginMs = 2_000;

/** What the scopes of a transaction use of the connection that it is on. */
export type Line = Pick<
  Session,
  "lost" | "isSound" | "send" | "prepend" | "boundLocks" | "boundStatements" | "unbound" | "tidy" | "idle"
>;

export class Session {
  readonly #client: PooledClient;
  readonly #deadlines: Deadlines;
  readonly #done: () => void;
  #lost: CounterfoilError | undefined;
  #keepsNames = false;
  /** The server's bound on a statement just now, and from the beginning of the transaction on. */
  #lockMs = 0;
  #statementMs: { now: number; readonly begun: number };
  /** What is sent now waits for the rest of this turn. */
  #gathers = false;
  /** Settles with the last statement that was sent. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(client: PooledClient, { deadlines, done }: SessionOptions) {
    this.#client = client;
    this.#deadlines = deadlines;
    this.#statementMs = { now: deadlines.statementMs, begun: deadlines.statementMs };
    this.#done = done;
  }

  /** Why the connection is gone; `undefined` while it is there. */
  get lost(): CounterfoilError | undefined {
    return this.#lost;
  }

  /** Whether the server is inside a transaction that has not failed, by its last answer. */
  get isSound(): boolean {
    return this.#client.getTransactionStatus() === "T";
  }

  /**
   * Begins the transaction, and gives the reading of the server's clock.
   *
   * Statements may be prepared under names where the process that answers is the one that the connection was
   * made to: a pooler would give them to a server that has never heard of them.
   */
  async begin(options: BeginOptions): Promise<number> {
    const answer = await this.send({ text: beginText(options), types: readTypes }, "begin");
    const { now, pid } = readBeginning(answer);
    this.#keepsNames = pid === this.#client.processID;
    const begun = options.statementMs || Infinity;
    this.#statementMs = { now: begun, begun };
    this.#lockMs = options.lockMs;
    return now;
  }

  /** Sends a statement behind those before it. Its error comes out coded. */
  send(query: DriverQuery, doing: Doing): Promise<DriverResult> {
    const answer = this.#send(query, doing);
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** Sends what needs no answer: should it fail, what follows fails as well, and says so. */
  prepend(text: string): void {
    this.#last = this.send({ text }, "statement").catch(() => undefined);
  }

  /** Bounds each later wait for a lock, until the transaction or the savepoint that it is in is undone. */
  boundLocks(lockMs: number): void {
    this.#lockMs = lockMs;
    this.prepend(`SET LOCAL lock_timeout = ${Math.max(1, Math.ceil(lockMs))}`);
  }

  /**
   * Takes away what a user's statements left on the connection.
   *
   * @throws CounterfoilError TRANSACTION_CONTROL where the transaction was made read-only.
   */
  async tidy(): Promise<void> {
    const { begun } = this.#statementMs;
    const text = tidyText({ lockMs: this.#lockMs, statementMs: begun === Infinity ? 0 : begun });
    const answer = await this.send({ text, types: readTypes }, "statement");
    this.unbound();
    if ([answer].flat().at(-1)?.rows[0]?.["is_frozen"] === true) throw frozenError();
  }

  /**
   * Bounds later statements by what is left of somebody's time. Most are far from its end, and what bounds them
   * already does: nothing is sent for those.
   */
  boundStatements(leftMs: number): void {
    const { now, begun } = this.#statementMs;
    const ms = Math.max(1, Math.ceil(Math.min(leftMs, begun)));
    if (ms === now || (ms < now && ms > now * spare)) return;
    this.#statementMs.now = ms;
    this.prepend(`SET LOCAL statement_timeout = ${ms}`);
  }

  /** The work of a savepoint is undone, and what bounded its statements with it. */
  unbound(): void {
    this.#statementMs.now = this.#statementMs.begun;
  }

  /** Resolves once everything that was sent is answered. */
  async idle(): Promise<void> {
    for (let last; last !== this.#last;) {
      last = this.#last;
      await last;
    }
  }

  /**
   * Commits. The server's own word counts: it carries out COMMIT of a failed transaction as ROLLBACK, without
   * an error.
   *
   * A wait for a replica that was cut short is told as a warning, after which the commit stands here and
   * may be lost with this server.
   */
  async commit(): Promise<void> {
    let warning = false;
    const onNotice = ({ severity, routine }: DriverNotice): void => {
      // A deferred trigger's own RAISE WARNING says nothing about the commit.
      warning ||= severity === "WARNING" && routine !== "exec_stmt_raise";
    };
    this.#client.on("notice", onNotice);
    try {
      const { command } = await this.send({ text: "COMMIT" }, "commit");
      if (command !== "COMMIT") throw notCommitted(command);
      if (warning) throw coded("COMMIT_UNKNOWN", { doing: "commit", what: "a replica may lack it" });
    } finally {
      this.#client.removeListener("notice", onNotice);
    }
  }

  /**
   * Rolls back whatever is open; where nothing is, the server says so in a warning. After an error its state is
   * not known before another answer. Where this fails as well, the connection is ended with its transaction.
   */
  async rollBack(): Promise<void> {
    if (this.#lost) return;
    await this.send({ text: "ROLLBACK" }, "rollback").catch(() => undefined);
  }

  /** Gives the connection back, or ends it where it is not known to be clean. */
  release(): void {
    if (this.#lost === undefined && this.#client.getTransactionStatus() === "I") {
      this.#client.release();
    } else {
      this.#client.connection.stream.destroy();
      this.#client.release(this.#lost ?? new Error("The connection was left inside a transaction"));
    }
    this.#done();
  }

  #withinMs(doing: Doing): number {
    const { statementMs, commitMs, beginMs = statementMs + marginMs } = this.#deadlines;
    if (doing === "commit") return commitMs;
    return doing === "begin" ? beginMs : this.#statementMs.begun + marginMs;
  }

  async #send(query: DriverQuery, doing: Doing): Promise<DriverResult> {
    // What is not even sent has no effect that could be unknown.
    if (this.#lost) throw this.#lost;
    const withinMs = this.#withinMs(doing);
    // What may take as long as it takes, such as a migration, has none.
    const timer = withinMs < Infinity ? setTimeout(() => this.#giveUp(doing, withinMs), withinMs) : undefined;
    this.#gather();
    try {
      return await this.#client.query(this.#keepsNames ? query : { ...query, name: undefined });
    } catch (error) {
      throw this.#coded(error, doing);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Lets what is sent until the end of this turn go in one packet. */
  #gather(): void {
    if (this.#gathers) return;
    this.#gathers = true;
    const { stream } = this.#client.connection;
    stream.cork();
    process.nextTick(() => {
      this.#gathers = false;
      stream.uncork();
    });
  }

  #coded(error: unknown, doing: Doing): unknown {
    if (isLoss(error)) this.#lost ??= storeError(error, "statement") as CounterfoilError;
    if (this.#lost === undefined || doing === "commit") return storeError(error, doing);
    return this.#lost;
  }

  #giveUp(doing: Doing, withinMs: number): void {
    this.#lost ??= coded("STORE_UNAVAILABLE", { doing, what: `no answer came within ${withinMs} ms` });
    this.#client.connection.stream.destroy();
  }
}

function frozenError(): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_CONTROL",
    "Cannot keep the work of a handler: it made the transaction read-only, in which nothing else can be written",
  );
}

function notCommitted(command: string | null): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_BROKEN",
    `Cannot commit: the server carried out ${command}; an earlier statement of the transaction had failed`,
  );
}
