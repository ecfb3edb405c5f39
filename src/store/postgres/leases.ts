/** Leases: by the database's clock alone, so that no worker's clock counts. */
import type { AttemptKind } from "../../domain/obligation.ts";
import { type ObligationRow, toObligation } from "../rows.ts";
import type { ExpiredLease } from "../store.ts";
import type { Handle } from "./handle.ts";
import { relation } from "./relation.ts";
import { rounds } from "./rounds.ts";
import { openColumns } from "./rows.ts";
import { sql } from "./statements.ts";

const leases = relation("g", { obligation_id: "int8", fence: "int8" }, 2);

// By primary key, in the order of the ids; a lease that has ended is not renewed, even if nobody took it.
const renew = sql(
  "lease.renew",
  `WITH held AS MATERIALIZED (
     SELECT p.obligation_id FROM ${leases.from}
     JOIN counterfoil.progress AS p ON p.obligation_id = g.obligation_id AND p.fence = g.fence AND p.lease_until > $1
     ORDER BY p.obligation_id FOR UPDATE OF p)
   UPDATE counterfoil.progress AS p SET lease_until = $2 FROM held WHERE p.obligation_id = held.obligation_id
   RETURNING p.obligation_id AS id`,
);

/** Renews leases that have not ended. */
export async function renewLeases(
  handle: Handle,
  held: readonly { readonly obligationId: number; readonly fence: number }[],
  leaseMs: number,
): Promise<boolean[]> {
  const now = handle.stamp.wallMs;
  const results: boolean[] = [];
  for (const round of rounds(held, ({ obligationId }) => obligationId)) {
    const rows = await handle.run<{ id: number }>(renew, [
      now,
      now + leaseMs,
      ...leases.values(round.map(({ obligationId, fence }) => ({ obligation_id: obligationId, fence }))),
    ]);
    const renewed = new Set(rows.map(({ id }) => id));
    results.push(...round.map(({ obligationId }) => renewed.has(obligationId)));
  }
  return results;
}

// Index progress_leased, which holds only what is leased: few rows at any time.
const selectExpired = sql(
  "lease.expired",
  `WITH ended AS MATERIALIZED (
     SELECT p.* FROM counterfoil.progress AS p WHERE p.lease_until <= $1
     ORDER BY p.lease_until LIMIT $2 FOR UPDATE SKIP LOCKED)
   SELECT ${openColumns}, p.lease_kind, p.lease_from FROM ended AS p
   JOIN counterfoil.obligations AS o ON o.id = p.obligation_id ORDER BY p.lease_until, p.obligation_id`,
);

interface ExpiredRow extends ObligationRow {
  readonly lease_kind: AttemptKind;
  readonly lease_from: number;
}

/** Obligations whose lease has ended, with what their holder was doing. */
export async function expiredLeases(handle: Handle, limit: number): Promise<ExpiredLease[]> {
  const rows = await handle.run<ExpiredRow>(selectExpired, [handle.stamp.wallMs, limit]);
  return rows.map((row) => {
    const { lease_kind: kind, lease_from: from } = row;
    const claimedAt = { wallMs: from, monotonicMs: from, bootId: handle.stamp.bootId };
    return { obligation: toObligation(row), kind, claimedAt };
  });
}
