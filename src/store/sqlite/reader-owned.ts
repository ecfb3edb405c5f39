/**
 * A page of one connection's events, or of one tenant's obligations, newest first.
 *
 * No index has them in that order, since each event would have to write it. Whoever owns many rows is
 * found soon by walking back from the newest; whoever owns few, by reading all of its entries in the
 * table's unique index, which begins with the owner. Nobody knows beforehand how many there are and how
 * old they are: a walk of bounded length comes first, and what it does not fill is read from the index.
 */
import { type Condition, pageOf } from "../page.ts";
import type { Page } from "../reader.ts";
import type { ReadHandle } from "./handle.ts";

/** Rows of anybody that are walked at most: as much work as reading the entries of an owner of so many. */
const walkMax = 20_000;

export interface Owned {
  readonly columns: string;
  /** The table and its alias, as the conditions have it. */
  readonly table: string;
  readonly alias: string;
  /** The unique index that begins with the owner's column. */
  readonly index: string;
  readonly owner: { readonly column: string; readonly value: string };
  readonly where: readonly Condition[];
}

/** Reads the page; its rows have the columns. */
export function ownedPage(handle: ReadHandle, page: Page, owned: Owned): readonly Record<string, unknown>[] {
  const { columns, table, alias, index, where } = owned;
  const { column, value } = owned.owner;
  const id = `${alias}.id`;
  const rows = (text: string, values: readonly (string | number)[]): Record<string, unknown>[] =>
    handle.database.prepare(text).all(...values);

  const from = `${table} AS ${alias}`;
  // The plus keeps SQLite from the unique index here.
  const near = pageOf(page, {
    from: `SELECT ${columns} FROM ${from}`,
    id,
    where: [
      { text: `+${alias}.${column} = ?`, values: [value] },
      { text: `${id} >= ${floor(table, page)}`, values: page.before === undefined ? [] : [page.before] },
      ...where,
    ],
  });
  const found = rows(near.text, near.values);
  if (found.length === page.limit) return found;
  const all = pageOf(page, {
    from: `SELECT ${id} FROM ${from} INDEXED BY ${index}`,
    id,
    where: [{ text: `${alias}.${column} = ?`, values: [value] }, ...where],
  });
  return rows(`SELECT ${columns} FROM ${from} WHERE ${id} IN (${all.text}) ORDER BY ${id} DESC`, all.values);
}

/** The least id of the walk. */
function floor(table: string, { before }: Page): string {
  const newest = before === undefined ? `(SELECT max(id) FROM ${table})` : "?";
  return `${newest} - ${walkMax}`;
}
