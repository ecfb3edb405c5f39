/** Marks of what somebody was told of; the table is as small as the list of what needs a person. */
import type { NoticeClaim } from "../store.ts";
import type { Handle } from "./handle.ts";
import { sql } from "./statements.ts";

const given = "SELECT key FROM jsonb_array_elements_text($1::jsonb) AS given (key)";

// In one order, so that two workers wait for each other and lock nothing crosswise. A claim that ends
// later than one that is made now was written by a clock that was ahead.
const claim = sql(
  "notice.claim",
  `INSERT INTO counterfoil.notices AS n (key, told, until) SELECT key, false, $2 FROM (${given}) AS g ORDER BY key COLLATE "C"
   ON CONFLICT (key) DO UPDATE SET until = $2 WHERE NOT n.told AND (n.until <= $3 OR n.until > $2)
   RETURNING key`,
);
const told = sql("notice.told", `UPDATE counterfoil.notices SET told = true WHERE key IN (${given})`);
const release = sql("notice.release", `DELETE FROM counterfoil.notices WHERE NOT told AND key IN (${given})`);
const forget = sql(
  "notice.forget",
  `DELETE FROM counterfoil.notices WHERE told AND key NOT IN (${given})
     AND (NOT starts_with(key, 'watch/') OR key IN (SELECT jsonb_array_elements_text($2::jsonb)))`,
);

/** Claims what nobody was told of; gives those keys, in the order given. */
export async function claimNotices(handle: Handle, { keys, leaseMs }: NoticeClaim): Promise<string[]> {
  const { wallMs } = handle.stamp;
  const rows = await handle.run<{ readonly key: string }>(claim, [list(keys), wallMs + leaseMs, wallMs]);
  const claimed = new Set(rows.map(({ key }) => key));
  return keys.filter((key) => claimed.has(key));
}

/** Marks claimed ones as told, or gives them back. */
export async function settleNotices(handle: Handle, keys: readonly string[], isTold: boolean): Promise<void> {
  await handle.run(isTold ? told : release, [list(keys)]);
}

/** Forgets marks of what is not on the list any more. */
export async function forgetNotices(handle: Handle, kept: readonly string[], judged: readonly string[]): Promise<void> {
  await handle.run(forget, [list(kept), list(judged)]);
}

function list(keys: readonly string[]): string {
  return JSON.stringify(keys);
}
