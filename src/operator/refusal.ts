import { CounterfoilError } from "../domain/errors.ts";

/** NOT_FOUND. `where` says how to find the thing. */
export function notFound(thing: string, where: string): CounterfoilError {
  return new CounterfoilError("NOT_FOUND", `Cannot find ${thing}: ${where}`);
}

/** NOT_ALLOWED. `why` says what is wrong and what to do instead. */
export function notAllowed(action: string, thing: string, why: string): CounterfoilError {
  return new CounterfoilError("NOT_ALLOWED", `Cannot ${action} ${thing}: ${why}`);
}

/** CHANGED: the thing is not what the operator saw. */
export function changed(action: string, thing: string): CounterfoilError {
  return new CounterfoilError(
    "CHANGED",
    `Cannot ${action} ${thing}: it changed since you looked; look again and decide anew`,
  );
}

/** BYTES_EXPIRED. */
export function bytesExpired(action: string, thing: string): CounterfoilError {
  return new CounterfoilError(
    "BYTES_EXPIRED",
    `Cannot ${action} ${thing}: its bytes were removed by retention; ask the provider to send it again`,
  );
}
