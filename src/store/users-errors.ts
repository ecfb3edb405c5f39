/** What both engines say of a transaction that the user has begun and will end. */
import { CounterfoilError } from "../domain/errors.ts";

/** Savepoints nest: undoing the one of two that was set first undoes the other's work as well. */
export function busyError(): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_CONTROL",
    "Cannot work in your transaction twice at once: await what was begun before",
  );
}

export function notOpenError(cause?: unknown): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_CLOSED",
    "Cannot work in your transaction: it is not open; begin it on the connection that you hand over",
    { cause },
  );
}

export function endedError(cause?: unknown): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_BROKEN",
    "Cannot go on in your transaction: it was ended meanwhile, and what was done in it with it; end it afterwards",
    { cause },
  );
}
