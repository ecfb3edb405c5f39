import type { SharedOptions } from "./base-command.ts";
import { jsonLine } from "./inert-text.ts";

/** One result: as a JSON object on one line, or as text. */
export function printResult({ json }: SharedOptions, result: object, text: () => string): void {
  console.log(json ? jsonLine(result) : text());
}

/** Rows: as a JSON object on each line, or as one text. */
export function printRows({ json }: SharedOptions, rows: readonly object[], text: () => string): void {
  if (!json) console.log(text());
  else for (const row of rows) console.log(jsonLine(row));
}
