/** The frozen request as it goes over the wire: with its key, and with credentials asked at this moment. */
import type { Operation } from "../domain/effect.ts";
import { requestDigest, sendMethod } from "../work/owe.ts";
import type { Attempting } from "./attempt.ts";
import type { CallRequest } from "./caller.ts";
import type { HeaderFields } from "./headers.ts";
import { type OwnHeaders, ownHeaders } from "./own-headers.ts";
import { parseJson } from "./stored-answer.ts";

/** A request to send, or why there is none. `"altered"` and `"unsendable"` will not mend by themselves. */
export type Wired =
  | { readonly fits: true; readonly request: CallRequest }
  | (OwnHeaders & { readonly fits: false })
  | { readonly fits: false; readonly cause: "altered" | "unsendable"; readonly problem: string };

/** Puts key and headers to a frozen request. The same generation gives the same bytes every time. */
export async function wireRequest(attempting: Attempting, operation: Operation<unknown>): Promise<Wired> {
  const { request } = attempting.claim;
  const { wireKey } = operation;
  const { idempotency } = attempting.definition;
  const altered = alteration(attempting);
  if (altered !== undefined) return unfit("altered", altered);
  const keyed =
    idempotency !== "none" && "field" in idempotency
      ? withField(request.body, { field: idempotency.field, wireKey })
      : request.body;
  if (keyed === "unsendable") return unfit("unsendable", "the key goes into a body field, and the body cannot take it");
  const url =
    idempotency !== "none" && "query" in idempotency ? withParam(request.url, idempotency.query, wireKey) : request.url;
  if (url === "unsendable") return unfit("unsendable", "the key goes into the query, which has that parameter already");
  const own = await ownHeaders(attempting, operation);
  if (!own.fits) return own;
  const systemHeaders: HeaderFields = {
    ...(request.contentType !== null && { "content-type": request.contentType }),
    ...(idempotency !== "none" && "header" in idempotency && { [idempotency.header.toLowerCase()]: wireKey }),
  };
  const method = request.method as CallRequest["method"];
  return { fits: true, request: { method, url, body: keyed, headers: own.headers, systemHeaders } };
}

/** Says why the stored request is not the one that was owed, or not for this kind of effect; `undefined` when it is. */
export function alteration({ claim, definition }: Pick<Attempting, "claim" | "definition">): string | undefined {
  const isSame = requestDigest(claim.request, definition.idempotency) === claim.requestDigest;
  if (isSame && (claim.request.method === sendMethod) === (definition.send !== undefined)) return undefined;
  return "the stored request, or how its key travels, is not what was owed; a changed effect needs a new version in its name";
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

/** Adds the key as the last parameter of the query, so that what stands before it stays as it was frozen. */
function withParam(text: string, name: string, wireKey: string): string {
  const url = new URL(text);
  if (url.searchParams.has(name)) return "unsendable";
  url.search += `${url.search === "" ? "?" : "&"}${encodeURIComponent(name)}=${encodeURIComponent(wireKey)}`;
  return url.href;
}

function unfit(cause: "altered" | "unsendable", problem: string): Wired {
  return { fits: false, cause, problem };
}
