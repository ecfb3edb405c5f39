/** Marks of what somebody was told of; the table is as small as the list of what needs a person. */
import type { NoticeClaim } from "../store.ts";
import type { Handle } from "./handle.ts";
import { sql } from "./statements.ts";

// A claim that ends later than one that is made now was written by a clock that was ahead.
const claim = sql(
  "notice.claim",
  `INSERT INTO counterfoil_notices (key, told, until) VALUES (?1, 0, ?2)
   ON CONFLICT (key) DO UPDATE SET until = ?2 WHERE told = 0 AND (until <= ?3 OR until > ?2)`,
);
const told = sql("notice.told", "UPDATE counterfoil_notices SET told = 1 WHERE key = ?");
const release = sql("notice.release", "DELETE FROM counterfoil_notices WHERE key = ? AND told = 0");
const forget = sql(
  "notice.forget",
  `DELETE FROM counterfoil_notices WHERE told = 1 AND key NOT IN (SELECT value FROM json_each(?))
     AND (key NOT GLOB 'watch/*' OR key IN (SELECT value FROM json_each(?)))`,
);

/** Claims what nobody was told of; gives those keys. */
export function claimNotices(handle: Handle, { keys, leaseMs }: NoticeClaim): string[] {
  const { wallMs } = handle.stamp;
  return keys.filter((key) => handle.statement(claim).run(key, wallMs + leaseMs, wallMs).changes === 1);
}

/** Marks claimed ones as told, or gives them back. */
export function settleNotices(handle: Handle, keys: readonly string[], isTold: boolean): void {
  for (const key of keys) handle.statement(isTold ? told : release).run(key);
}

/** Forgets marks of what is not on the list any more. */
export function forgetNotices(handle: Handle, kept: readonly string[], judged: readonly string[]): void {
  handle.statement(forget).run(JSON.stringify(kept), JSON.stringify(judged));
}
