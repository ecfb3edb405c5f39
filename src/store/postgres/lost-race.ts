import { CounterfoilError } from "../../domain/errors.ts";

/** Something that a statement relied on was changed by another transaction: running the whole again meets it as it is. */
export function lostRace(what: string): CounterfoilError {
  return new CounterfoilError("RACE_LOST", `Cannot go on with the transaction: ${what}; it has to run again`);
}
