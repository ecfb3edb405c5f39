/**
 * The pool of one store. Nothing bound to a session stands on it: any statement may meet any connection,
 * also one that a pooler in between gave to others meanwhile.
 */
import { CounterfoilError } from "../../domain/errors.ts";
import { Turn } from "../turn.ts";
import { createPool, type DriverPool, type DriverSettings, type PooledClient, sqlState } from "./driver.ts";
import { type Deadlines, Session } from "./session.ts";

export interface PoolOptions {
  readonly settings: DriverSettings;
  /** Connections at most. */
  readonly connectionsMax: number;
  /** Time to connect. */
  readonly connectMs: number;
  readonly deadlines: Deadlines;
}

/** Least time for a server to begin a transaction, where the wait for a connection has used it up. */
const beginMsMin = 500;

export class Connections {
  readonly #options: PoolOptions;
  /** Whoever waits for a connection waits here, for as long as it will itself. */
  readonly #turn: Turn;
  #pool: DriverPool | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#turn = new Turn(options.connectionsMax);
  }

  /** A connection for one transaction; whoever takes it releases it. @throws CounterfoilError STORE_BUSY or STORE_UNAVAILABLE. */
  async take(waitMs: number): Promise<Session> {
    const endMs = performance.now() + waitMs;
    const done = await this.#turn.take(waitMs);
    try {
      this.#pool ??= this.#open();
      const client = await inTime(this.#pool.connect(), endMs - performance.now());
      // A server that does not even begin is not waited for any longer than a connection.
      const deadlines = { ...this.#options.deadlines, beginMs: Math.max(endMs - performance.now(), beginMsMin) };
      return new Session(client, { deadlines, done });
    } catch (error) {
      done();
      throw unavailable(error);
    }
  }

  /** Ends every connection once it is back; a later `take` opens others. */
  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end();
  }

  #open(): DriverPool {
    const { settings, connectionsMax, connectMs } = this.#options;
    const pool = createPool(settings, { max: connectionsMax, connectMs });
    // An idle connection that ends is replaced when one is needed; one in use tells its statement.
    pool.on("error", () => undefined);
    pool.on("connect", (client) => client.on("error", () => undefined));
    return pool;
  }
}

/** A connection that comes later than anybody waits for it goes to the pool. */
async function inTime(connecting: Promise<PooledClient>, waitMs: number): Promise<PooledClient> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`No connection was made within ${waitMs} ms`)), waitMs);
  try {
    return await Promise.race([connecting, late]);
  } catch (error) {
    connecting.then(
      (client) => client.release(),
      () => undefined,
    );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function unavailable(cause: unknown): CounterfoilError {
  const state = sqlState(cause);
  const what = state === undefined ? "the server cannot be reached" : `the server says ${state}`;
  return new CounterfoilError(
    "STORE_UNAVAILABLE",
    `Cannot connect to PostgreSQL: ${what}; check address, credentials and network; the store goes on by itself`,
    { cause },
  );
}
