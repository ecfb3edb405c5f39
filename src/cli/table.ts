import { inertText } from "./inert-text.ts";

/** What stands in a cell; `null` is shown as a dash. */
export type Cell = string | number | boolean | null;

/**
 * Rows as aligned text under their headings, every cell inert.
 *
 * @example
 * ```ts
 * tableText(["id", "state"], [[1, "owed"]]); // "id  state\n1   owed"
 * ```
 */
export function tableText(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return aligned([headings, ...rows.map((row) => row.map(cellText))]);
}

/** Names and values in two aligned columns. */
export function recordText(fields: Readonly<Record<string, Cell>>): string {
  return aligned(Object.entries(fields).map(([name, value]) => [name, cellText(value)]));
}

function cellText(cell: Cell): string {
  return cell === null || cell === "" ? "-" : inertText(String(cell));
}

function aligned(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
