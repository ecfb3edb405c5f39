/**
 * Reads a verified delivery in two steps: who it is, which any thread can tell, and then, by the user's
 * own functions and only where the engine runs, whose it is and what is to be done with it.
 */
import { sha256 } from "../domain/digest.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError, hasCode } from "../domain/errors.ts";
import type { Event, Handler } from "../domain/handler.ts";
import { readPath } from "../domain/json.ts";
import { namePart } from "../domain/names.ts";
import { type Decision, unmappedReason } from "../domain/outcome.ts";
import type { Payload, Receipt } from "../domain/receipt.ts";
import { parseAgain, type ParsedBody, parseBody, type UnreadableCause } from "../parse/parse-body.ts";
import { identify, type Identity } from "../providers/identify.ts";
import type { ReceiptDraft } from "../store/store.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { type Authenticated, authenticatedBy } from "../verify/scheme.ts";
import type { Verified } from "../verify/verdict.ts";
import type { Delivery } from "../verify/verify.ts";
import type { Arrival, FailurePolicy, Reading } from "./arrival.ts";
import { type Connection, tenantOf } from "./connection.ts";
import { keptHeaders } from "./kept-headers.ts";

type Identified = Exclude<Identity, { readonly kind: "no_usable_id" }>;

/** What is read of a verified delivery before its event: plain data, so that another thread of this process can read it. */
export interface ReadDelivery {
  readonly identity: Identified;
  readonly digest: string;
  /** Why the body cannot be read. */
  readonly unreadable: UnreadableCause | null;
  /** The headers that are kept with the bytes. */
  readonly headers: string;
  readonly secretId: string;
}

/** A body, parsed as far as its event needs it. */
export type EventBody = Pick<ParsedBody, "value" | "exactText">;

/** A delivery on its way to its arrival; the body where it was parsed in this thread. */
export interface Readable {
  readonly read: ReadDelivery;
  readonly bytes: Uint8Array;
  readonly body?: EventBody;
}

/**
 * Reads a verified delivery.
 *
 * @throws CounterfoilError NO_EVENT_ID when the delivery cannot be told from others.
 */
export function readDelivery(connection: Connection, delivery: Delivery, verdict: Verified): Readable {
  const { headers, body: bytes, arrivedAtMs } = delivery;
  const { authenticated, secretId } = verdict;
  const kept = keptHeaders(connection.provider.rules, headers);
  return readBytes(connection, { headers, bytes, authenticated, arrivedAtMs }, { headers: kept, secretId });
}

/** Turns a delivery that was read into an arrival. */
export function arrivalOf(connection: Connection, readable: Readable, policy: FailurePolicy): Arrival {
  return { ...arrived(connection, readable), policy, later: connection.apply === "later" };
}

/** A stored event, read again; without a draft where it cannot even be told any more who it is. */
export interface StoredReading {
  readonly draft: ReceiptDraft | null;
  readonly reading: Reading;
}

/** Reads the bytes of a stored event again, by the configuration of today. Never throws over its content. */
export function readStored(connection: Connection, receipt: Receipt, payload: Payload): StoredReading {
  const headers = headersFromRaw((JSON.parse(payload.headers) as [string, string][]).flat());
  const authenticated = authenticatedBy(connection.provider.rules.schemes[0]);
  const kept = { headers: payload.headers, secretId: receipt.secretId };
  try {
    return arrived(connection, readBytes(connection, { headers, bytes: payload.bytes, authenticated }, kept));
  } catch (error) {
    if (!hasCode(error, "NO_EVENT_ID")) throw error;
    return { draft: null, reading: decided("quarantined", "its id cannot be read by the preset of today") };
  }
}

function readBytes(
  { id, provider }: Connection,
  {
    headers,
    bytes,
    authenticated,
    arrivedAtMs = 0,
  }: {
    readonly headers: DeliveryHeaders;
    readonly bytes: Uint8Array;
    readonly authenticated: Authenticated;
    readonly arrivedAtMs?: number;
  },
  kept: Pick<ReadDelivery, "headers" | "secretId">,
): Readable {
  const body = parseBody(bytes, provider.plan);
  const identity = identify(provider.rules, { headers, body, authenticated, arrivedAtMs });
  if (identity.kind === "no_usable_id") {
    throw new CounterfoilError(
      "NO_EVENT_ID",
      `Cannot take the delivery to "${id}": its event id is unusable (${identity.cause}); check the preset's identity`,
    );
  }
  const { digest } = body;
  if (body.kind === "unreadable") return { read: { identity, digest, unreadable: body.cause, ...kept }, bytes };
  return { read: { identity, digest, unreadable: null, ...kept }, bytes, body };
}

function arrived(connection: Connection, readable: Readable): Pick<Arrival, "draft" | "reading"> {
  const { read, bytes } = readable;
  const { identity, digest, headers, secretId } = read;
  const { rules } = connection.provider;
  const tenant = tenantFor(connection, identity.account);
  const draft: ReceiptDraft = {
    connection: connection.id,
    account: identity.account,
    eventId: identity.id,
    tenant: tenant.name,
    type: identity.type,
    digest,
    secretId,
    payload: { bytes, headers },
    bytesKeptMs: connection.bytesKeptMs,
    // The type counts too: it often travels unsigned, and the same body may honestly come under two types.
    replay:
      identity.signed.id || rules.replayWindowMs === 0
        ? null
        : { digest: sha256(`${identity.type}\n${digest}`), windowMs: rules.replayWindowMs },
  };
  return { draft, reading: readingOf(connection, readable, tenant) };
}

interface Tenant {
  /** `""` where there is none. */
  readonly name: string;
  readonly problem: string | null;
}

/** Asks the configuration, which is the user's code: what it throws concerns this event alone. */
function tenantFor(connection: Connection, account: string): Tenant {
  try {
    const name = tenantOf(connection, account);
    const known = name !== null && namePart(name) === undefined;
    return known ? { name, problem: null } : { name: "", problem: "its account belongs to no tenant" };
  } catch (error) {
    return { name: "", problem: `its tenant could not be told: ${errorSummary(error)}` };
  }
}

function readingOf(connection: Connection, { read, bytes, ...parsed }: Readable, tenant: Tenant): Reading {
  const { identity } = read;
  const { plan, rules } = connection.provider;
  if (identity.kind === "quarantined") return decided("quarantined", identity.cause);
  if (read.unreadable !== null) return decided("quarantined", read.unreadable);
  if (tenant.problem !== null) return decided("quarantined", tenant.problem);
  if (connection.mode !== null) {
    if (identity.mode === undefined) return decided("quarantined", "it does not tell its mode");
    if (identity.mode !== connection.mode) return decided("ignored", `mode is ${identity.mode}`);
  }
  const handler = connection.handlers.get(identity.type);
  if (handler === undefined) return decided("ignored", unmappedReason);
  const body = parsed.body ?? parseAgain(bytes, plan);
  return runnable(connection, handler, {
    connection: connection.id,
    account: identity.account,
    tenant: tenant.name,
    id: identity.id,
    type: identity.type,
    data: readPath(body.value, rules.data),
    body: body.value,
    raw: bytes,
    exactText: (path) => body.exactText(path),
  });
}

/** Schemas and orders are the user's code too: an event that they cannot read is kept for the operator. */
function runnable(connection: Connection, handler: Handler, event: Event): Reading {
  try {
    const accepted = handler.accepts(event.data);
    if ("problem" in accepted) return decided("quarantined", accepted.problem);
    const checked = { ...event, data: accepted.data };
    const rank = connection.releaseBy === null ? null : rankText(connection.releaseBy(checked));
    const orderKey = connection.order === null ? null : connection.order(checked);
    const problem = orderKey === null ? undefined : namePart(orderKey);
    if (problem !== undefined) return decided("quarantined", `its order key ${problem}`);
    return { kind: "runnable", event: checked, handler, rank, orderKey };
  } catch (error) {
    return decided("quarantined", `its data could not be read: ${errorSummary(error)}`);
  }
}

/** Numbers as text that sorts like them: offset and padded, so that the store compares bytes. */
function rankText(rank: number): string | null {
  if (!Number.isSafeInteger(rank)) return null;
  return String(BigInt(rank) + 2n ** 53n).padStart(17, "0");
}

function decided(outcome: Decision["outcome"], reason: string): Reading {
  return { kind: "decided", decision: { outcome, reason } };
}
