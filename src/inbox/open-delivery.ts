/**
 * From a delivery to what its event, or its events, are read of:
 *
 *   sent bytes -> verify -> inflate -> form -> items     where the bytes are signed as they were sent
 *   sent bytes -> inflate -> verify -> form -> items     where they are signed inflated
 *
 * The signed bytes are the bytes kept. What they say, as JSON text, is their content: the same bytes
 * unless they were encoded. Of a batch each event keeps its own item, cut out of the content as it stands.
 */
import { CounterfoilError, hasCode } from "../domain/errors.ts";
import { parseBody, type ParsedBody, type UnreadableBody, unreadableBody } from "../parse/parse-body.ts";
import { readForm } from "../parse/read-form.ts";
import { splitBatch } from "../parse/split-batch.ts";
import { identify } from "../providers/identify.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import type { Authenticated } from "../verify/scheme.ts";
import type { Refused, Verified } from "../verify/verdict.ts";
import { type Delivery, verifyFetching } from "../verify/verify.ts";
import type { Readable, ReadDelivery } from "./arrival.ts";
import type { Connection } from "./connection.ts";
import { type Hold, inflate } from "./inflate.ts";
import { keptHeaders, keptItemHeaders } from "./kept-headers.ts";
import { mediaTypeOf } from "./media-type.ts";

/** A verified delivery: one event, or the items of a batch, each read or refused by itself. */
export type Opened =
  | { readonly kind: "event"; readonly readable: Readable }
  | { readonly kind: "batch"; readonly items: readonly (Readable | CounterfoilError)[] };

export interface OpenOptions {
  readonly hold: Hold;
  /** Items of one batch. */
  readonly itemsMax: number;
}

/**
 * Verifies a delivery and reads it.
 *
 * Rejects with MEDIA_TYPE_REFUSED, BODY_TOO_LARGE, BODY_INCOMPLETE, OVERLOADED or NO_EVENT_ID.
 */
export async function openDelivery(
  connection: Connection,
  delivery: Delivery,
  { hold, itemsMax }: OpenOptions,
): Promise<Opened | Refused> {
  const { isGzip, isForm } = mediaTypeOf(connection, delivery.headers);
  const { bodyBytesMax: bytesMax, keyring } = connection;
  const plain = { delivery, inflated: delivery.body, isForm, itemsMax };
  if (!isGzip) return opened(connection, plain, await verifyFetching(keyring, delivery));
  if (connection.provider.rules.signedBytes === "sent") {
    const verdict = await verifyFetching(keyring, delivery);
    if (verdict.kind === "refused") return verdict;
    const inflated = await inflate(delivery.body, { bytesMax, hold });
    return opened(connection, { ...plain, inflated }, verdict);
  }
  const body = await inflate(delivery.body, { bytesMax, hold });
  if (body === undefined) {
    throw new CounterfoilError("BODY_INCOMPLETE", "Cannot read the body: its gzip encoding is damaged or ends early");
  }
  const signed = { ...delivery, body };
  return opened(connection, { ...plain, delivery: signed, inflated: body }, await verifyFetching(keyring, signed));
}

interface Openable extends Pick<OpenOptions, "itemsMax"> {
  readonly delivery: Delivery;
  /** `undefined` where the body is signed and cannot be inflated. */
  readonly inflated: Uint8Array | undefined;
  readonly isForm: boolean;
}

function opened(connection: Connection, openable: Openable, verdict: Verified | Refused): Opened | Refused {
  if (verdict.kind === "refused") return verdict;
  const { rules } = connection.provider;
  const { headers, body: bytes, arrivedAtMs } = openable.delivery;
  const { authenticated, secretId } = verdict;
  const content = contentOf(connection, openable, bytes);
  const items = rules.batch && content instanceof Uint8Array ? splitBatch(content, rules.batch) : undefined;
  if (Array.isArray(items)) {
    assertFew(items.length, openable.itemsMax);
    const kept = { headers: keptItemHeaders(rules, headers), secretId };
    return { kind: "batch", items: readItems(connection, items, { headers, authenticated, arrivedAtMs, kept }) };
  }
  const kept = { headers: keptHeaders(rules, headers), secretId };
  return {
    kind: "event",
    readable: readContent(connection, { headers, bytes, content: items ?? content, authenticated, arrivedAtMs }, kept),
  };
}

function assertFew(items: number, itemsMax: number): void {
  if (items <= itemsMax) return;
  throw new CounterfoilError(
    "BODY_TOO_LARGE",
    `Cannot take the delivery: its batch has ${items} items, taken are ${itemsMax}; raise the limit batchMax`,
  );
}

/** The JSON text of a body, or what stands for one that has none. */
export function contentOf(
  { provider: { rules, plan } }: Connection,
  { inflated, isForm }: Pick<Openable, "inflated" | "isForm">,
  bytes: Uint8Array,
): Uint8Array | UnreadableBody {
  if (inflated === undefined) return unreadableBody("invalid_gzip", bytes, plan);
  if (!isForm) return inflated;
  const form = readForm(inflated, rules.form);
  return form.kind === "content" ? form.content : unreadableBody(form.cause, inflated, plan);
}

function readItems(
  connection: Connection,
  items: readonly Uint8Array[],
  { kept, ...common }: Omit<Signed, "bytes" | "content"> & { readonly kept: Kept },
): (Readable | CounterfoilError)[] {
  return items.map((item) => {
    try {
      return readContent(connection, { ...common, bytes: item, content: item }, kept);
    } catch (error) {
      if (!hasCode(error, "NO_EVENT_ID")) throw error;
      return error;
    }
  });
}

type Kept = Pick<ReadDelivery, "headers" | "secretId">;

/** What was signed, and what it says. */
interface Signed {
  readonly headers: DeliveryHeaders;
  readonly bytes: Uint8Array;
  readonly content: Uint8Array | UnreadableBody;
  readonly authenticated: Authenticated;
  readonly arrivedAtMs?: number;
}

/**
 * Reads who an event is.
 *
 * @throws CounterfoilError NO_EVENT_ID when it cannot be told from others.
 */
export function readContent({ id, provider }: Connection, signed: Signed, kept: Kept): Readable {
  const { headers, bytes, content, authenticated, arrivedAtMs = 0 } = signed;
  const body: ParsedBody | UnreadableBody = content instanceof Uint8Array ? parseBody(content, provider.plan) : content;
  const identity = identify(provider.rules, { headers, body, authenticated, arrivedAtMs });
  if (identity.kind === "no_usable_id") {
    throw new CounterfoilError(
      "NO_EVENT_ID",
      `Cannot take the delivery to "${id}": its event id is unusable (${identity.cause}); check the preset's identity`,
    );
  }
  const { digest } = body;
  const text = content instanceof Uint8Array ? content : bytes;
  if (body.kind === "unreadable") {
    return { read: { identity, digest, unreadable: body.cause, ...kept }, bytes, content: text };
  }
  return { read: { identity, digest, unreadable: null, ...kept }, bytes, content: text, body };
}
