/**
 * How transactions begin: with their isolation, their timeouts and a reading of the server's clock, in one
 * message. Everything is set for the transaction alone, since a pooler may give the next one another session.
 */
import type { DriverResult } from "./driver.ts";

/** How long the server waits within a transaction. */
export interface Bounds {
  /** Longest wait for each lock. */
  readonly lockMs: number;
  /** Longest time of each statement; 0 is without end. */
  readonly statementMs: number;
}

export interface BeginOptions extends Bounds {
  /** A read sees one state of the database throughout; a write sees, statement by statement, what is committed. */
  readonly kind: "read" | "write";
  /** Its commit waits for no disk. */
  readonly fleeting?: boolean | undefined;
  /** Plans are made without regard to how much the tables hold just now, and kept. */
  readonly plansKept?: boolean | undefined;
}

/** A process that stopped inside a transaction holds its locks no longer than this. */
const idleMs = 60_000;

/**
 * READ COMMITTED whatever the server's default is. A database that is replicated asynchronously by its owner's
 * wish stays so; one that would not even wait for its own disk is told to.
 */
export function beginText({ kind, lockMs, statementMs, fleeting, plansKept }: BeginOptions): string {
  const mode = kind === "read" ? "REPEATABLE READ READ ONLY" : "READ COMMITTED READ WRITE";
  const settings = [
    beginSettings({ lockMs, statementMs }),
    ...(fleeting ? ["set_config('synchronous_commit', 'off', true)"] : []),
    ...(plansKept ? [keepPlans] : []),
  ];
  return `BEGIN ISOLATION LEVEL ${mode}; SELECT ${settings.join(", ")},
    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, pg_backend_pid() AS pid`;
}

/**
 * A plan that is made while a table is small reads it from end to end, and would do so when it is large. Our own
 * statements find their rows by an index at any size, so that one plan of each, made so, is good for ever.
 */
const keepPlans = `
    set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)`;

/** What a transaction of the engine's is set to, as columns of a SELECT. */
export function beginSettings({ lockMs, statementMs }: Bounds): string {
  return `set_config('lock_timeout', '${Math.max(1, Math.ceil(lockMs))}', true),
    set_config('statement_timeout', '${statementMs}', true),
    set_config('idle_in_transaction_session_timeout', '${idleMs}', true),
    CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`;
}

/** The reading of the server's clock, and the process that answered. */
export function readBeginning(answer: DriverResult): { readonly now: number; readonly pid: number } {
  const results = [answer].flat();
  const row = results.at(-1)?.rows[0];
  return { now: Number(row?.["now"]), pid: Number(row?.["pid"]) };
}
