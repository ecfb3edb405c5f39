/**
 * The one place that says what PostgreSQL's errors mean to a caller.
 *
 * | PostgreSQL | in a statement | at COMMIT |
 * |---|---|---|
 * | deadlock, serialization failure | RACE_LOST: the whole transaction runs again | RACE_LOST |
 * | lock timeout | STORE_BUSY | STORE_BUSY |
 * | a copy that is not all there refuses a write | STORE_INCOMPLETE | |
 * | disk full | STORE_FULL | STORE_FULL, rolled back |
 * | connection lost, server going down | STORE_UNAVAILABLE | COMMIT_UNKNOWN: the commit may stand |
 * | no answer within the deadline | STORE_UNAVAILABLE | COMMIT_UNKNOWN |
 * | wait for a replica cancelled, a warning | | COMMIT_UNKNOWN: only the replica did not confirm |
 * | a write in a transaction that was made read-only | the engine's own: TRANSACTION_BROKEN; a user's: its own error | |
 * | refused connection, failing disk | STORE_UNAVAILABLE | STORE_UNAVAILABLE |
 * | any error at BEGIN, such as a replica's refusal to write | STORE_UNAVAILABLE | |
 * | damaged data or index | STORE_CORRUPT | STORE_CORRUPT |
 * | statement cancelled | the engine's own: STORE_UNAVAILABLE; a user's: its own error | COMMIT_REFUSED |
 * | any other error | the statement's own error | COMMIT_REFUSED: a deferred constraint or trigger |
 *
 * Source: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
import { CounterfoilError, type ErrorCode } from "../../domain/errors.ts";
import { endsConnection, sqlState } from "./driver.ts";

/** What was under way when an error came. */
export type Doing = "connect" | "begin" | "statement" | "user statement" | "commit" | "rollback";

/** What a code of PostgreSQL means: exact ones, then classes by their first two characters. */
const codes: Readonly<Record<string, ErrorCode>> = {
  "25006": "TRANSACTION_BROKEN", // read_only_sql_transaction, which BEGIN made read-write
  "25P02": "TRANSACTION_POISONED", // in_failed_sql_transaction
  "25P03": "STORE_UNAVAILABLE", // idle_in_transaction_session_timeout
  "3D000": "STORE_UNAVAILABLE", // invalid_catalog_name: no such database
  "40001": "RACE_LOST", // serialization_failure
  "40P01": "RACE_LOST", // deadlock_detected
  "53100": "STORE_FULL", // disk_full
  "55P03": "STORE_BUSY", // lock_not_available
  CF001: "STORE_INCOMPLETE", // a trigger of ours; see copy-fence.ts
  XX001: "STORE_CORRUPT", // data_corrupted
  XX002: "STORE_CORRUPT", // index_corrupted
  "08": "STORE_UNAVAILABLE", // connection exceptions
  "28": "STORE_UNAVAILABLE", // invalid authorization
  "53": "STORE_UNAVAILABLE", // insufficient resources
  "57": "STORE_UNAVAILABLE", // operator intervention
  "58": "STORE_UNAVAILABLE", // system errors
};

/** read_only_sql_transaction: at BEGIN a replica's word, later the doing of a statement. */
const readOnly = "25006";

/** query_canceled: by statement_timeout or by somebody's hand. */
const cancelled = "57014";

/** Whether a user's statement was ended by the server's bound on its time, or by somebody's hand. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === cancelled;
}

const advice: Readonly<Partial<Record<ErrorCode, string>>> = {
  RACE_LOST: "the transaction lost a race and has to run again",
  STORE_BUSY: "another transaction holds a lock; try again",
  STORE_FULL: "free disk space; nothing was kept and the store goes on by itself",
  STORE_UNAVAILABLE: "check that the server runs, can be reached and takes writes; the store goes on by itself",
  STORE_CORRUPT: "restore the database from a backup",
  STORE_INCOMPLETE: 'the store is a copy that is not all there yet; end it with "counterfoil copy --final"',
  COMMIT_UNKNOWN: "the commit may be kept or not; deliver again, the receipt decides",
  COMMIT_REFUSED: "a deferred constraint or trigger does not hold; nothing was kept",
  TRANSACTION_BROKEN: "a statement of this transaction made it read-only; leave that to the engine",
  TRANSACTION_POISONED: "an earlier statement of this transaction failed; let its error go out",
};

/** The code of an SQLSTATE, or `undefined` where the error is the statement's own. */
export function storeCode(state: string, doing: Doing): ErrorCode | undefined {
  if (doing === "user statement" && (state === cancelled || state === readOnly)) return undefined;
  if (state === cancelled && doing === "commit") return "COMMIT_REFUSED";
  const code = codes[state] ?? codes[state.slice(0, 2)];
  if (doing === "begin") return state === readOnly ? "STORE_UNAVAILABLE" : (code ?? "STORE_UNAVAILABLE");
  return doing === "commit" ? (code ?? "COMMIT_REFUSED") : code;
}

/**
 * Gives an error its code. What is not the store's own trouble (a constraint, a syntax error, an error
 * of the body) comes back as it is. Nothing of the server's own words is repeated: they quote values.
 */
export function storeError(error: unknown, doing: Doing): unknown {
  const state = sqlState(error);
  if (isLoss(error)) {
    // With the connection, the answer to what was under way is gone.
    const code = doing === "commit" ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE";
    return coded(code, { doing, what: state ? `PostgreSQL says ${state}` : "the connection was lost", cause: error });
  }
  const code = state === undefined ? undefined : storeCode(state, doing);
  return code === undefined ? error : coded(code, { doing, what: `PostgreSQL says ${state}`, cause: error });
}

export function coded(
  code: ErrorCode,
  { doing, what, cause }: { readonly doing: Doing; readonly what: string; readonly cause?: unknown },
): CounterfoilError {
  const action = doing.endsWith("statement") ? "run a statement" : doing === "rollback" ? "roll back" : doing;
  return new CounterfoilError(code, `Cannot ${action}: ${what}; ${advice[code]}`, { cause });
}

/** Whether the connection is gone: by an error of its socket, by the driver's own word, or by the server's last. */
export function isLoss(error: unknown): boolean {
  if (sqlState(error) !== undefined) return endsConnection(error);
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isLoss);
  if ("syscall" in error && typeof error.syscall === "string") return true;
  return driverLosses.test(error.message);
}

const driverLosses = /^(?:Connection terminated|Client has encountered a connection error|Client was closed)/;
