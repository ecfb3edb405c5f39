import { InvalidArgumentError } from "commander";
import type { Instant } from "../domain/instant.ts";

/** Reads a time that names its zone: of two readings of one clock face, the wrong one could send twice. */
export function zonedTime(text: string): Instant {
  const isZoned = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const read = isZoned ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(read)) {
    throw new InvalidArgumentError("It must be a time with its zone, such as 2026-11-30T04:00:00Z.");
  }
  return read;
}
