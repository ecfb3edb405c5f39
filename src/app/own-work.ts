/** What the application asks of itself: transactions of its own, and deliveries that it hands over. */
import { CounterfoilError } from "../domain/errors.ts";
import { Misuse } from "../domain/misuse.ts";
import { namePart } from "../domain/names.ts";
import { type Connection, tenantOf } from "../inbox/connection.ts";
import type { Connections } from "../inbox/connections.ts";
import type { Store } from "../store/store.ts";
import { headersFromFetch } from "../verify/delivery-headers.ts";
import type { Delivery } from "../verify/verify.ts";
import type { Scope } from "../work/owe.ts";

/** Whose work the application's own transaction does. */
export interface TransactionScope {
  readonly tenant: string;
  /** Needed for snapshots, which are kept per connection and account. */
  readonly connection?: string;
  readonly account?: string;
}

/** A delivery for `receive`: what came, as it came. */
export interface DeliveryInput {
  readonly headers: Headers | Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
  /** By default POST; read where the signature covers it. */
  readonly method?: string;
  /** Path and query as they came, for senders that sign the URL or put their token there. */
  readonly target?: string;
}

/** Rejects with UNKNOWN_CONNECTION, or with what finding it has met. */
export async function connectionOf(connections: Connections, id: string): Promise<Connection> {
  return known(await connections.find(id), id);
}

/**
 * A connection that is listed, or was found lately.
 *
 * @throws CounterfoilError UNKNOWN_CONNECTION.
 */
export function connectionAtHand(connections: Connections, id: string): Connection {
  return known(connections.get(id), id);
}

function known(connection: Connection | undefined, id: string): Connection {
  if (connection !== undefined) return connection;
  throw new CounterfoilError("UNKNOWN_CONNECTION", `Cannot deliver: there is no connection "${id}"`);
}

/** Whose the events of a connection are, by its last receipt; one that could not be read is nobody's yet. */
export async function lastTenant({ reader }: Store, connection: string): Promise<string | undefined> {
  const [last] = await reader.receipts({ connection }, { limit: 1 });
  return last === undefined || last.tenant === "" ? undefined : last.tenant;
}

/** Snapshots are kept by connection and account: under another tenant's they would be that tenant's. */
export async function scopeOf(
  connections: Connections,
  { tenant, connection = "", account = "" }: TransactionScope,
): Promise<Scope> {
  const problem = namePart(tenant);
  if (problem !== undefined) throw new Misuse(`Cannot begin a transaction: its tenant ${problem}`);
  if (connection !== "" && tenantOf(await connectionOf(connections, connection), account) !== tenant) {
    throw new Misuse(`Cannot begin a transaction: connection "${connection}" is not of the tenant that is named`);
  }
  return { tenant, connection, account, receiptId: null };
}

export function deliveryOf({ headers, body, method, target }: DeliveryInput, arrivedAtMs: number): Delivery {
  return {
    headers: headersFromFetch(headers instanceof Headers ? headers : new Headers(headers)),
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
    arrivedAtMs,
    ...(method !== undefined && { method }),
    ...(target !== undefined && { target }),
  };
}
