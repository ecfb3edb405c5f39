/**
 * A user's transaction as the engine's scopes use a session: one statement after the other, errors with
 * their codes.
 *
 * Everything happens behind a savepoint, so that what is done here is kept whole, as far as the user
 * commits, or undone whole, and a failed statement leaves the user's transaction usable. To release it is
 * also the proof that the transaction is still the one that it was. Settings are given back as they were,
 * except `synchronous_commit = off`: what is answered after a commit has to be on the disk.
 */
import { CounterfoilError } from "../../domain/errors.ts";
import { Misuse } from "../../domain/misuse.ts";
import type { SqlValue } from "../../domain/sql.ts";
import type { UserTransaction } from "../../domain/user-transaction.ts";
import { endedError, notOpenError } from "../users-errors.ts";
import type { DriverQuery, DriverResult } from "./driver.ts";
import { coded, type Doing, storeCode } from "./errors.ts";
import type { Line } from "./session.ts";
import { inSchema } from "./statements.ts";
import { ownRows, ownStatement, type SpelledStatement, usersStatement } from "./user-statement.ts";
import { readColumn } from "./user-values.ts";

export interface UserSessionOptions {
  readonly schema: string;
  /** Longest wait for each lock, where the user's own settings have none. */
  readonly waitMs: number;
}

/** What the server says when the savepoint, or the transaction, is not there. */
const closedStates: readonly string[] = ["25P01", "3B001"];

export class UserSession implements Line {
  readonly #transaction: UserTransaction;
  readonly #options: UserSessionOptions;
  /** Why nothing more is sent. */
  #lost: CounterfoilError | undefined;
  #setsPatience = false;
  #isBegun = false;
  /** Whether the connection is gone: whatever is sent then, some tools never answer. */
  #isGone = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(transaction: UserTransaction, options: UserSessionOptions) {
    this.#transaction = transaction;
    this.#options = options;
  }

  get lost(): CounterfoilError | undefined {
    return this.#lost;
  }

  get isSound(): boolean {
    return this.#lost === undefined;
  }

  /** Begins behind a savepoint; gives the reading of the server's clock. */
  async begin(): Promise<number> {
    const { schema, waitMs } = this.#options;
    await this.send({ text: "SAVEPOINT counterfoil" }, "begin");
    this.#isBegun = true;
    const values = [String(Math.max(1, Math.ceil(waitMs)))];
    const { rows } = await this.send({ text: inSchema(look, schema), values }, "statement");
    if (rows[0]?.["is_here"] !== true) {
      throw new CounterfoilError(
        "STORE_UNSUPPORTED",
        `Cannot work in your transaction: its database has no tables in schema "${schema}"; begin it in the store's database`,
      );
    }
    this.#setsPatience = rows[0]["sets_patience"] === true;
    return Number(rows[0]["now"]);
  }

  /** Gives the transaction back with what was done. */
  async end(): Promise<void> {
    if (this.#setsPatience) await this.send({ text: "SELECT set_config('lock_timeout', '0', true)" }, "statement");
    await this.send({ text: "RELEASE SAVEPOINT counterfoil" }, "statement");
  }

  /** Gives the transaction back as it was, as far as it is still there. */
  async rollBack(): Promise<void> {
    await this.idle();
    if (!this.#isBegun || this.#isGone) return;
    this.#lost = undefined;
    const undo = "ROLLBACK TO SAVEPOINT counterfoil; RELEASE SAVEPOINT counterfoil";
    await this.send({ text: undo }, "rollback").catch(() => undefined);
  }

  /** Sends a statement behind those before it. Its error comes out coded. */
  send(query: DriverQuery, doing: Doing): Promise<DriverResult> {
    const answer = this.#last.then(() => this.#send(query, doing));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** Sends what needs no answer: should it fail, nothing more is sent. */
  prepend(text: string): void {
    void this.send({ text }, "statement").catch((error: unknown) => {
      this.#lost ??= error as CounterfoilError;
    });
  }

  /** Does nothing: how long a lock is waited for is the user's own setting, or the same from the beginning on. */
  boundLocks(): void {}

  /** Does nothing, for the same reason. */
  boundStatements(): void {}

  unbound(): void {}

  /** Does nothing: what is left on the user's connection is the user's. */
  async tidy(): Promise<void> {}

  /** Resolves once everything that was sent is answered. */
  async idle(): Promise<void> {
    for (let last; last !== this.#last;) {
      last = this.#last;
      await last;
    }
  }

  async #send({ text, values = [] }: DriverQuery, doing: Doing): Promise<DriverResult> {
    if (this.#lost) throw this.#lost;
    if (doing === "user statement") return this.#run(usersStatement(text, values as SqlValue[]), doing);
    // Some tools take one statement at a time only.
    const texts = doing === "rollback" ? text.split("; ") : [text];
    let result: DriverResult | undefined;
    for (const each of texts) result = await this.#run(ownStatement(each, values), doing);
    return result as DriverResult;
  }

  async #run({ statement, command, isSeveral }: SpelledStatement, doing: Doing): Promise<DriverResult> {
    if (isSeveral) throw new Misuse("Cannot run a text of several statements: give each its own call");
    try {
      const { rows, changes } = await this.#transaction.query(statement);
      const isUsers = doing === "user statement";
      return {
        command,
        rowCount: statement.returnsRows ? rows.length : changes,
        rows: isUsers ? rows.map(readRow) : statement.returnsRows ? ownRows(rows) : [],
      };
    } catch (error) {
      throw this.#coded(error, doing);
    }
  }

  #coded(error: unknown, doing: Doing): unknown {
    const state = this.#transaction.sqlState?.(error) ?? sqlStateOf(error);
    const isClosed = doing === "begin" ? state === undefined : error instanceof CounterfoilError;
    if (isClosed || (state !== undefined && closedStates.includes(state))) {
      return (this.#lost = this.#isBegun ? endedError(error) : notOpenError(error));
    }
    // Nothing of a statement of the engine's own depends on what the tool thinks of it.
    if (state === undefined && doing === "user statement") return error;
    const code = state === undefined ? "STORE_UNAVAILABLE" : storeCode(state, doing);
    if (code === undefined) return error;
    const what = state === undefined ? "the connection was lost" : `PostgreSQL says ${state}`;
    const told = coded(code, { doing: doing === "begin" ? "statement" : doing, what, cause: error });
    if (state === undefined || /^(?:08|57P)/.test(state)) {
      this.#isGone = true;
      this.#lost = told;
    }
    return told;
  }
}

// The limit of lock waits is set where there is none.
const look = `WITH was AS MATERIALIZED (SELECT current_setting('lock_timeout') = '0' AS sets_patience)
  SELECT to_regclass('counterfoil.receipts') IS NOT NULL AS is_here, sets_patience,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
    CASE WHEN sets_patience THEN set_config('lock_timeout', $1, true) END AS patience,
    CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END AS durability
  FROM was`;

function readRow(row: Readonly<Record<string, unknown>>): Record<string, SqlValue> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, readColumn(value)]));
}

/** A code of the server's: its classes are two digits, or one of a few pairs; no system's error looks like it. */
const sqlStates = /^(?:\d[\dA-Z]|F0|HV|P0|XX)[\dA-Z]{3}$/;

function sqlStateOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ("code" in at && typeof at.code === "string" && sqlStates.test(at.code)) return at.code;
  }
  return undefined;
}
