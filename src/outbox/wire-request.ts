/** The frozen request as it goes over the wire: with its key, and with credentials asked at this moment. */
import type { EffectDefinition, Operation } from "../domain/effect.ts";
import { errorSummary } from "../domain/error-summary.ts";
import type { Claim } from "../store/store.ts";
import { requestDigest } from "../work/owe.ts";
import type { CallRequest } from "./caller.ts";
import type { HeaderFields } from "./headers.ts";
import { parseJson } from "./stored-answer.ts";

/** A request to send, or why there is none. `"altered"` and `"unsendable"` will not mend by themselves. */
export type Wired =
  | { readonly fits: true; readonly request: CallRequest }
  | { readonly fits: false; readonly cause: "altered" | "unsendable" | "headers"; readonly problem: string };

/** Puts key and headers to a frozen request. The same generation gives the same bytes every time. */
export function wireRequest(claim: Claim, definition: EffectDefinition, { wireKey }: Operation<unknown>): Wired {
  const { request } = claim;
  if (requestDigest(request) !== claim.requestDigest) {
    return unfit("altered", "the stored request is not the one that was owed: its digest differs");
  }
  const { idempotency } = definition;
  const keyed =
    idempotency !== "none" && "field" in idempotency
      ? withField(request.body, { field: idempotency.field, wireKey })
      : request.body;
  if (keyed === "unsendable") return unfit("unsendable", "the key goes into a body field, and the body cannot take it");
  const own = ownHeaders(definition);
  if (!own.fits) return own;
  const systemHeaders: HeaderFields = {
    ...(request.contentType !== null && { "content-type": request.contentType }),
    ...(idempotency !== "none" && "header" in idempotency && { [idempotency.header.toLowerCase()]: wireKey }),
  };
  const method = request.method as CallRequest["method"];
  return { fits: true, request: { method, url: request.url, body: keyed, headers: own.headers, systemHeaders } };
}

/** The effect's own headers at this moment, or why there are none. */
export function ownHeaders(
  definition: EffectDefinition,
): { readonly fits: true; readonly headers: HeaderFields } | (Wired & { readonly fits: false }) {
  try {
    return { fits: true, headers: { ...definition.headers?.() } };
  } catch (error) {
    return unfit("headers", `the effect's headers failed with ${errorSummary(error)}`);
  }
}

/** Adds the key as the last member of a JSON object's own text, so that no other byte of it changes. */
function withField(
  body: Uint8Array | null,
  { field, wireKey }: { readonly field: string; readonly wireKey: string },
): Uint8Array | "unsendable" {
  const object = body === null ? undefined : parseJson(body).value;
  if (body === null || typeof object !== "object" || object === null || Array.isArray(object)) return "unsendable";
  if (Object.hasOwn(object, field)) return "unsendable";
  const text = new TextDecoder().decode(body).trimEnd().slice(0, -1);
  const comma = Object.keys(object).length > 0 ? "," : "";
  return new TextEncoder().encode(`${text}${comma}${JSON.stringify(field)}:${JSON.stringify(wireKey)}}`);
}

function unfit<Cause extends (Wired & { readonly fits: false })["cause"]>(
  cause: Cause,
  problem: string,
): { readonly fits: false; readonly cause: Cause; readonly problem: string } {
  return { fits: false, cause, problem };
}
