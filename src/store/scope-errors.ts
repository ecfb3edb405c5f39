/** What a body hears that uses its transaction wrongly. */
import { CounterfoilError } from "../domain/errors.ts";

export function unfinishedError(what: string): CounterfoilError {
  return new CounterfoilError(
    "HANDLER_UNFINISHED",
    `Cannot go on with ${what}: its body waits for something other than its transaction, such as a timer, a request ` +
      "or another transaction; do that before or after, or owe it as an effect",
  );
}

export function slowError(withinMs: number): CounterfoilError {
  return new CounterfoilError(
    "HANDLER_UNFINISHED",
    `Cannot keep the work of a handler: it has taken longer than ${withinMs} ms, its statements included; do less in ` +
      "it, or owe the rest as an effect",
  );
}

export function closedError(): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_CLOSED",
    "Cannot use a transaction after its end: something was not awaited inside it; await every statement",
  );
}
