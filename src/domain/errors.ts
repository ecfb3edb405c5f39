/**
 * Every code that a caller can meet, with what it means. `docs/errors.md` says what to do about each;
 * a test holds the two lists equal.
 */
export const errorCodes = {
  CONFIG_INVALID: "The configuration cannot work as written",
  SIGNATURE_REFUSED: "The delivery could not be verified",
  UNKNOWN_CONNECTION: "No connection has this id",
  CONNECTION_UNAVAILABLE: "A connection could not be found out about",
  NO_EVENT_ID: "The delivery has no usable event id",
  BODY_TOO_LARGE: "The body is over the connection's limit",
  BODY_INCOMPLETE: "The body ended early or its length was wrong",
  BODY_ALREADY_READ: "A body parser consumed the request before it could be verified",
  MEDIA_TYPE_REFUSED: "The content type, charset or encoding is not the connection's",
  METHOD_REFUSED: "The method is not the connection's",
  HEADERS_TOO_LARGE: "The headers are too large or too many",
  OVERLOADED: "Too many deliveries are waiting",
  HANDLER_FAILED: "A handler threw or broke its transaction",
  HANDLER_UNFINISHED: "A handler waited for something other than its transaction, or left a call of it behind",
  TRANSACTION_CLOSED: "The transaction was used after its end",
  TRANSACTION_POISONED: "An earlier statement of this transaction failed",
  TRANSACTION_CONTROL: "A handler tried to control the transaction",
  TRANSACTION_BROKEN: "Something ended the transaction from within",
  RACE_LOST: "The transaction lost a deadlock or serialization race",
  SNAPSHOT_CONFLICT: "The same revision has other content",
  OPERATION_CONFLICT: "The same operation key has other input, or was withdrawn",
  STORE_BUSY: "The database stayed locked",
  STORE_FULL: "The database has no room",
  STORE_UNAVAILABLE: "The database cannot be reached or written",
  STORE_CORRUPT: "The database file is damaged",
  STORE_UNSUPPORTED: "The database cannot keep the promises here",
  COMMIT_UNKNOWN: "The answer to COMMIT was lost",
  COMMIT_REFUSED: "The database refused to commit",
  STORE_MOVED: "The store was moved to another database",
  STORE_INCOMPLETE: "The store is a copy that is not all there yet",
  COPY_DIFFERS: "What was copied is not what it was copied from",
  SCHEMA_OUTDATED: "The schema is older than this version needs",
  SCHEMA_NEWER: "The schema is newer than this version knows",
  NOT_FOUND: "There is no such thing",
  NOT_ALLOWED: "The action does not fit the state",
  CHANGED: "Someone else acted first",
  BYTES_EXPIRED: "The stored bytes were removed by retention",
} as const;

/** A code of the table, to compare an error's `code` with. */
export type ErrorCode = keyof typeof errorCodes;

/**
 * An error that a caller can handle by its code.
 *
 * Messages say what was attempted, what is wrong and what to do; they never hold payload or secrets.
 */
export class CounterfoilError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CounterfoilError";
    this.code = code;
  }
}

/** Whether an error is ours and has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is CounterfoilError {
  return error instanceof CounterfoilError && codes.includes(error.code);
}

/**
 * Codes that one statement of a handler can cause as well as a store that is ill: only a transaction
 * without that handler can tell.
 */
export const doubtfulTroubles: readonly ErrorCode[] = ["STORE_FULL", "STORE_CORRUPT"];

/** Codes of a store that cannot take work now: nothing was kept, and trying again may help. */
export const storeTroubles: readonly ErrorCode[] = [
  "STORE_BUSY",
  "STORE_FULL",
  "STORE_UNAVAILABLE",
  "STORE_CORRUPT",
  "COMMIT_UNKNOWN",
  "STORE_MOVED",
  "STORE_INCOMPLETE",
];
