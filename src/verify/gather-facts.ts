import { hash } from "node:crypto";
import type { DeliveryHeaders } from "./delivery-headers.ts";
import type { Keyring } from "./keyring.ts";
import { headersOf } from "./scheme.ts";
import type { RefusalFacts } from "./verdict.ts";

interface Evidence {
  readonly headers: DeliveryHeaders;
  readonly body: Uint8Array;
  readonly skewMs?: number | undefined;
  readonly allowedMs?: number | undefined;
}

/** Collects what may be kept of a refused delivery. The sender is unknown, so every text is bounded. */
export function gatherFacts(keyring: Keyring, { headers, body, skewMs, allowedMs }: Evidence): RefusalFacts {
  const names = keyring.entries.flatMap(({ scheme }) => ("headers" in scheme ? scheme.headers : headersOf(scheme)));
  const values = names.map((name) => headers.get(name)).filter((value) => value !== undefined);
  return {
    bodyBytes: body.length,
    bodySha256: hash("sha256", body, "hex").slice(0, 12),
    contentType: plain(headers.get("content-type")),
    contentEncoding: plain(headers.get("content-encoding")),
    signatureChars: values.length === 0 ? undefined : Math.max(...values.map(({ length }) => length)),
    skewMs,
    allowedMs,
    secretIds: keyring.secretIds,
  };
}

function plain(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  return /^[\w.+/;="' -]{0,100}$/.test(value) ? value : `(${value.length} characters)`;
}
