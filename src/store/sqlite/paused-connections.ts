/** Connections whose events are kept and not applied until they are resumed. */
import type { Counts } from "../reader.ts";
import type { Handle } from "./handle.ts";
import { sql } from "./statements.ts";

const pause = sql(
  "connection.pause",
  `INSERT INTO counterfoil_connections (connection, paused_reason, updated_at) VALUES (?, ?, ?)
   ON CONFLICT (connection) DO UPDATE SET paused_reason = excluded.paused_reason, updated_at = excluded.updated_at`,
);

/** Pauses a connection for a reason, or resumes it. */
export function pauseConnection(handle: Handle, connection: string, reason: string | null): void {
  handle.statement(pause).run(connection, reason, handle.stamp.wallMs);
}

/** Whether a connection is paused; the table holds few rows, most often none. */
export function isPaused(connection: string): string {
  return `${connection} IN (SELECT connection FROM counterfoil_connections WHERE paused_reason IS NOT NULL)`;
}

// Index counterfoil_connections_paused.
const selectPaused = sql(
  "read.paused-connections",
  `SELECT connection, paused_reason AS reason FROM counterfoil_connections
   WHERE paused_reason IS NOT NULL AND connection > ? ORDER BY connection LIMIT +?`,
);

/** Paused connections behind one, by id. */
export function pausedConnections(
  handle: Pick<Handle, "statement">,
  { after = "", limit = -1 }: { readonly after?: string | number | undefined; readonly limit?: number } = {},
): Counts["pausedConnections"] {
  return handle.statement(selectPaused).all(after, limit) as unknown as Counts["pausedConnections"];
}
