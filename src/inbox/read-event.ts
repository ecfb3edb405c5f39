/**
 * The second step of reading a verified delivery, by the user's own functions and only where the engine
 * runs: whose it is, and what is to be done with it. The first, which any thread can do, is open-delivery.ts.
 */
import { sha256 } from "../domain/digest.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { hasCode } from "../domain/errors.ts";
import type { Event, Handler } from "../domain/handler.ts";
import { readPath } from "../domain/json.ts";
import { namePart } from "../domain/names.ts";
import { type Decision, unmappedReason } from "../domain/outcome.ts";
import type { Payload, Receipt } from "../domain/receipt.ts";
import { parseAgain } from "../parse/parse-body.ts";
import { arrivedAt } from "../providers/identify.ts";
import type { ReceiptDraft } from "../store/store.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { authenticatedBy } from "../verify/scheme.ts";
import type { Arrival, FailurePolicy, Readable, Reading } from "./arrival.ts";
import { type Connection, tenantOf } from "./connection.ts";
import { inflateStored } from "./inflate.ts";
import { storedMediaType } from "./media-type.ts";
import { contentOf, readContent } from "./open-delivery.ts";

/** Turns a delivery that was read into an arrival. */
export function arrivalOf(connection: Connection, readable: Readable, policy: FailurePolicy): Arrival {
  return {
    ...arrived(connection, readable),
    policy,
    later: connection.apply === "later",
    handlerMs: connection.handlerMs,
    content: readable.content,
  };
}

/** A stored event, read again; without a draft where it cannot even be told any more who it is. */
export interface StoredReading {
  readonly draft: ReceiptDraft | null;
  readonly reading: Reading;
}

/** Reads the bytes of a stored event again, by the configuration of today. Never throws over its content. */
export function readStored(connection: Connection, receipt: Receipt, payload: Payload): StoredReading {
  const { rules } = connection.provider;
  const headers = headersFromRaw((JSON.parse(payload.headers) as [string, string][]).flat());
  const authenticated = authenticatedBy(rules.schemes[0]);
  const kept = { headers: payload.headers, secretId: receipt.secretId };
  const { isGzip, isForm } = storedMediaType(rules, headers);
  const { bytes } = payload;
  const inflated = isGzip ? inflateStored(bytes, connection.bodyBytesMax) : bytes;
  const content = contentOf(connection, { inflated, isForm }, bytes);
  try {
    const arrivedAtMs = arrivedAt(receipt.eventId);
    const read = { headers, bytes, content, authenticated, ...(arrivedAtMs !== undefined && { arrivedAtMs }) };
    return arrived(connection, readContent(connection, read, kept));
  } catch (error) {
    if (!hasCode(error, "NO_EVENT_ID")) throw error;
    return { draft: null, reading: decided("quarantined", "its id cannot be read by the preset of today") };
  }
}

function arrived(connection: Connection, readable: Readable): Pick<Arrival, "draft" | "reading"> {
  const { read, bytes } = readable;
  const { identity, digest, headers, secretId } = read;
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
    // Where a field goes with one event only, another event that has it is no honest one.
    // The type counts too: it often travels unsigned, and the same body may honestly come under two types.
    replay:
      identity.signed.id || connection.replayWindowMs === 0
        ? null
        : {
            digest: sha256(
              identity.singleUse ??
                `${identity.type}
${digest}`,
            ),
            windowMs: connection.replayWindowMs,
          },
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

function readingOf(connection: Connection, { read, bytes, content, ...parsed }: Readable, tenant: Tenant): Reading {
  const { identity } = read;
  const { plan, rules } = connection.provider;
  if (identity.kind === "quarantined") return decided("quarantined", identity.cause);
  if (read.unreadable !== null) return decided("quarantined", read.unreadable);
  if (tenant.problem !== null) return decided("quarantined", tenant.problem);
  if (connection.mode !== null) {
    const { mode } = identity;
    if (mode !== undefined && mode !== connection.mode) return decided("ignored", `mode is ${mode}`);
    if (mode === undefined && connection.missingMode !== "accept") {
      const outcome = connection.missingMode === "ignore" ? "ignored" : "quarantined";
      return decided(outcome, "it does not tell its mode");
    }
  }
  const handler = connection.handlers.get(identity.type);
  if (handler === undefined) return decided("ignored", unmappedReason);
  const body = parsed.body ?? parseAgain(content, plan);
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
