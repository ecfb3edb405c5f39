/**
 * The one place that says what SQLite's result codes mean to a caller.
 *
 * | SQLite | in a statement | at COMMIT |
 * |---|---|---|
 * | BUSY, PROTOCOL | STORE_BUSY | STORE_BUSY |
 * | FULL | STORE_FULL | STORE_FULL, rolled back |
 * | IOERR | STORE_UNAVAILABLE | COMMIT_UNKNOWN: the commit may be on disk |
 * | CORRUPT, NOTADB | STORE_CORRUPT | STORE_CORRUPT |
 * | READONLY, CANTOPEN, PERM, NOMEM | STORE_UNAVAILABLE | STORE_UNAVAILABLE |
 * | CONSTRAINT | the statement's own error | COMMIT_REFUSED: a deferred constraint |
 * | CONSTRAINT of a trigger that a copy has left | STORE_MOVED | |
 * | AUTH | TRANSACTION_CONTROL: only our guard denies anything | |
 *
 * Source: https://www.sqlite.org/rescode.html
 */
import { CounterfoilError, type ErrorCode } from "../../domain/errors.ts";
import { isMovedText } from "../marks.ts";

/** What was under way when SQLite gave an error. */
export type Doing = "open" | "begin" | "statement" | "commit" | "rollback";

const primaryCodes: Readonly<Record<number, ErrorCode>> = {
  3: "STORE_UNAVAILABLE", // PERM
  5: "STORE_BUSY",
  7: "STORE_UNAVAILABLE", // NOMEM
  8: "STORE_UNAVAILABLE", // READONLY
  10: "STORE_UNAVAILABLE", // IOERR
  11: "STORE_CORRUPT",
  13: "STORE_FULL",
  14: "STORE_UNAVAILABLE", // CANTOPEN
  15: "STORE_BUSY", // PROTOCOL: a race for the lock of the WAL index
  23: "TRANSACTION_CONTROL", // AUTH
  26: "STORE_CORRUPT", // NOTADB
};

const advice: Readonly<Partial<Record<ErrorCode, string>>> = {
  STORE_BUSY: "another process holds the write lock; try again",
  STORE_FULL: "free disk space; nothing was kept and the store goes on by itself",
  STORE_UNAVAILABLE: "check that the file and its folder can be read and written; the store goes on by itself",
  STORE_CORRUPT: "restore the file from a backup, or check that it is a SQLite database",
  COMMIT_UNKNOWN: "the commit may be kept or not; deliver again, the receipt decides",
  COMMIT_REFUSED: "a deferred constraint does not hold; nothing was kept",
  TRANSACTION_CONTROL: "leave BEGIN, COMMIT, ROLLBACK, SAVEPOINT, ATTACH, DETACH and PRAGMA to the engine",
};

const doings: Readonly<Record<Doing, string>> = {
  open: "open",
  begin: "begin",
  statement: "run a statement",
  commit: "commit",
  rollback: "roll back",
};

/** SQLITE_CONSTRAINT_TRIGGER. */
const raised = 1811;

/** The code of a SQLite result, or `undefined` where the error is the statement's own. */
export function storeCode(errcode: number, doing: Doing): ErrorCode | undefined {
  const primary = errcode & 0xff;
  if (doing === "commit" && primary === 10) return "COMMIT_UNKNOWN";
  if (doing === "commit" && primary === 19) return "COMMIT_REFUSED";
  return primaryCodes[primary];
}

/**
 * Gives an error its code. What is not the store's own trouble (a constraint, a syntax error, an error
 * of the body) comes back as it is.
 */
export function storeError(error: unknown, doing: Doing, { path }: { readonly path?: string } = {}): unknown {
  const errcode = sqliteCode(error);
  if (errcode === raised && error instanceof Error && isMovedText(error.message)) {
    return new CounterfoilError("STORE_MOVED", error.message, { cause: error });
  }
  const code = errcode === undefined ? undefined : storeCode(errcode, doing);
  if (code === undefined) return error;
  const what = { ...doings, open: path === undefined ? "open" : `open ${path}` }[doing];
  return new CounterfoilError(code, `Cannot ${what}: SQLite says ${errcode} (${codeText(error)}); ${advice[code]}`, {
    cause: error,
  });
}

/** The extended result code of a `node:sqlite` error. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode : undefined;
}

function codeText(error: unknown): string {
  return error instanceof Error && "errstr" in error && typeof error.errstr === "string" ? error.errstr : "no text";
}

/** Codes after which the connection cannot be trusted and is opened anew. */
export function needsReopen(code: ErrorCode): boolean {
  return ["STORE_UNAVAILABLE", "STORE_CORRUPT", "COMMIT_UNKNOWN", "STORE_MOVED"].includes(code);
}
