/**
 * A page of one connection's events, or of one tenant's obligations, newest first.
 *
 * No index has them in that order, since each event would have to write it. Whoever owns many rows is
 * found soon by walking back from the newest; whoever owns few, by reading all of its entries in the
 * table's unique index, which begins with the owner. The planner knows how many there are, but not how
 * old: a walk of bounded length comes first, and what it does not fill is read from the index.
 */
import { type Condition, pageOf } from "../page.ts";
import type { Page } from "../reader.ts";
import type { ReadHandle } from "./handle.ts";

/** Rows of anybody that are walked at most: as much work as reading the entries of an owner of so many. */
const walkMax = 20_000;

export interface Owned {
  readonly columns: string;
  /** The tables, and the one whose rows are owned, with the alias that the conditions have. */
  readonly tables: string;
  readonly table: string;
  readonly alias: string;
  readonly owner: Condition;
  readonly where: readonly Condition[];
}

/** Reads the page; its rows have the columns. */
export async function ownedPage<Row>(handle: ReadHandle, page: Page, owned: Owned): Promise<readonly Row[]> {
  const { columns, tables, table, alias, owner, where } = owned;
  const id = `${alias}.id`;
  const newest = page.before === undefined ? `(SELECT max(id) FROM ${table})` : "?";
  const near = pageOf(page, {
    from: `SELECT ${columns} FROM ${tables}`,
    id,
    where: [
      { text: `${id} >= ${newest} - ${walkMax}`, values: page.before === undefined ? [] : [page.before] },
      owner,
      ...where,
    ],
  });
  const found = await handle.runText<Row>(near.text, near.values);
  if (found.length === page.limit) return found;
  const all = pageOf(page, {
    from: `WITH owned AS MATERIALIZED (SELECT ${id} FROM ${table} AS ${alias} WHERE ${owner.text})
      SELECT ${columns} FROM owned JOIN (${tables}) ON ${id} = owned.id`,
    id: "owned.id",
    where,
  });
  return handle.runText<Row>(all.text, [...owner.values, ...all.values]);
}
