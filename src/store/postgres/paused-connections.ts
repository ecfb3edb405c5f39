/** Connections whose events are kept and not applied until they are resumed. */
import type { Counts } from "../reader.ts";
import type { Handle, ReadHandle } from "./handle.ts";
import { sql } from "./statements.ts";
import { plain } from "./values.ts";

const pause = sql(
  "connection.pause",
  `INSERT INTO counterfoil.connections (connection, paused_reason, updated_at) VALUES ($1, $2, $3)
   ON CONFLICT (connection) DO UPDATE SET paused_reason = excluded.paused_reason, updated_at = excluded.updated_at`,
);

/** Pauses a connection for a reason, or resumes it. */
export async function pauseConnection(handle: Handle, connection: string, reason: string | null): Promise<void> {
  await handle.run(pause, [connection, plain(reason), handle.stamp.wallMs]);
  if (reason === null) handle.say({ arrived: true });
}

/** Whether a connection is paused; the table holds few rows, most often none. */
export function isPaused(connection: string): string {
  return `EXISTS (SELECT FROM counterfoil.connections AS c WHERE c.connection = ${connection} AND c.paused_reason IS NOT NULL)`;
}

// Index connections_paused.
const selectPaused = sql(
  "read.paused-connections",
  `SELECT connection, paused_reason AS reason FROM counterfoil.connections
   WHERE paused_reason IS NOT NULL AND connection > $1 ORDER BY connection LIMIT $2`,
);

/** Paused connections behind one, by id. */
export function pausedConnections(
  handle: ReadHandle,
  { after = "", limit = null }: { readonly after?: string | number | undefined; readonly limit?: number | null } = {},
): Promise<Counts["pausedConnections"]> {
  return handle.run(selectPaused, [after, limit]);
}
