import type { Page } from "./reader.ts";

type Value = string | number;

/** A part of a WHERE clause, with its values, each `?` in the text. */
export interface Condition {
  readonly text: string;
  readonly values: readonly Value[];
}

/** A condition with one value; none where the value is `undefined`. */
export function whereSet(text: string, value: Value | undefined): readonly Condition[] {
  return value === undefined ? [] : [{ text, values: [value] }];
}

interface PageQuery {
  /** `SELECT ... FROM ...`. */
  readonly from: string;
  /** The column of the id that pages go by. */
  readonly id: string;
  readonly where: readonly Condition[];
}

/** The statement of one page, by descending id. Conditions are texts of ours; values are bound, never spliced. */
export function pageOf(
  { before, limit }: Page,
  { from, id, where }: PageQuery,
): { readonly text: string; readonly values: Value[] } {
  const conditions = [...where, ...whereSet(`${id} < ?`, before)];
  const filter = conditions.map(({ text }) => text).join(" AND ");
  return {
    text: `${from}${filter && ` WHERE ${filter}`} ORDER BY ${id} DESC LIMIT ? + 0`,
    values: [...conditions.flatMap(({ values }) => values), limit],
  };
}
