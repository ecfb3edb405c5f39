/** Turns what a handler owes into a frozen request: built once here, sent the same every time. */
import { canonicalJson, sha256 } from "../domain/digest.ts";
import { durationMs } from "../domain/duration.ts";
import type { Effect, EffectDefinition, Operation, RequestSpec } from "../domain/effect.ts";
import type { Json } from "../domain/json.ts";
import { wireKey } from "../domain/key-life.ts";
import { Misuse } from "../domain/misuse.ts";
import { joinKey } from "../domain/names.ts";
import type { FrozenRequest } from "../domain/obligation.ts";
import { check } from "../domain/schema.ts";
import type { ObligationDraft } from "../store/store.ts";
import type { Runtime } from "./runtime.ts";

/** Whose work a transaction does. */
export interface Scope {
  readonly tenant: string;
  readonly connection: string;
  readonly account: string;
  /** The receipt whose handler runs, `null` for the application's own transactions. */
  readonly receiptId: number | null;
}

/** What is to be owed, its types gone. */
export interface OwedInput {
  readonly key: readonly string[];
  readonly input: unknown;
  readonly notBefore?: unknown;
  readonly orderKey?: readonly string[];
}

/**
 * Builds the draft of an obligation, its request frozen.
 *
 * @throws TypeError when the effect is not registered, the key has a bad part, the input does not fit,
 * or the request cannot be frozen.
 */
export function draftObligation(
  effect: Effect<never>,
  owed: OwedInput,
  { scope, runtime }: { readonly scope: Scope; readonly runtime: Runtime },
): ObligationDraft {
  if (runtime.effects.get(effect.name) !== effect.definition) {
    throw new Misuse(`Cannot owe "${effect.name}": it is not registered; add it to effects in defineApp`);
  }
  const { definition } = effect;
  const operationKey = joinKey(owed.key);
  const input = checkedInput(effect, owed.input);
  const { tenant } = scope;
  const operation = { key: tenantKey(tenant, operationKey), tenant, input };
  const { request, destination } = frozen(effect, operation, runtime.limits.requestBytes);
  return {
    ...scope,
    operationKey,
    effect: effect.name,
    destination,
    input: JSON.stringify(input),
    inputDigest: sha256(canonicalJson(input)),
    request,
    requestDigest: requestDigest(request, definition.idempotency),
    orderKey: owed.orderKey === undefined ? null : joinKey([tenant, ...owed.orderKey]),
    notBefore: owed.notBefore === undefined ? null : notBefore(effect, owed.notBefore),
  };
}

function notBefore(effect: Effect<never>, wished: unknown): number {
  if (wished instanceof Date && !Number.isNaN(wished.getTime())) return wished.getTime();
  throw new Misuse(`Cannot owe "${effect.name}": its notBefore is no valid Date`);
}

/** The operation that an effect's functions are given. */
export function operationOf(
  row: { readonly tenant: string; readonly operationKey: string; readonly generation: number },
  input: unknown,
  { idempotency }: EffectDefinition,
): Operation<unknown> {
  const { lengthMax, form } = idempotency === "none" ? {} : idempotency;
  return {
    key: tenantKey(row.tenant, row.operationKey),
    wireKey: wireKey({ ...row, lengthMax, form }),
    tenant: row.tenant,
    input,
  };
}

/** The operation key is escaped already; only the tenant has to be, so that no two tenants share a name. */
function tenantKey(tenant: string, operationKey: string): string {
  return `${joinKey([tenant])}/${operationKey}`;
}

/** How long an effect's key lives in milliseconds; `null` where the provider has no contract. */
export function keyLifetimeMs({ idempotency }: EffectDefinition): number | null {
  return idempotency === "none" ? null : durationMs(idempotency.keyLifetime);
}

/**
 * Names the exact bytes of a request and how its key travels; checked again before each send. A key that
 * came to stand elsewhere, or to be cut otherwise, would be another key to the provider, so a deployment
 * that changes it stops what was owed before instead of sending it twice.
 */
export function requestDigest(
  { method, url, contentType, body }: FrozenRequest,
  idempotency: EffectDefinition["idempotency"],
): string {
  const place = idempotency === "none" ? "none" : keyPlace(idempotency);
  // JSON in front frames the parts, so that no two requests give the same bytes.
  const head = JSON.stringify([method, url, contentType, place, body !== null]);
  return sha256(body === null ? head : Buffer.concat([Buffer.from(head), body]));
}

function keyPlace(idempotency: Exclude<EffectDefinition["idempotency"], "none">): readonly (string | number | null)[] {
  const { lengthMax = null, form = "text" } = idempotency;
  const end = form === "text" ? [lengthMax] : [lengthMax, form];
  if ("header" in idempotency) return ["header", idempotency.header.toLowerCase(), ...end];
  if ("field" in idempotency) return ["field", idempotency.field, ...end];
  return "query" in idempotency ? ["query", idempotency.query, ...end] : ["send", ...end];
}

function checkedInput(effect: Effect<never>, input: unknown): Json {
  const checked = check(effect.definition.input, input);
  if (!checked.fits) throw new Misuse(`Cannot owe "${effect.name}": its input ${checked.issues.join("; ")}`);
  return checked.value as Json;
}

interface Frozen {
  readonly request: FrozenRequest;
  readonly destination: string;
}

/** The method of what an SDK sends: no request of ours, but the input that it is given. */
export const sendMethod = "SEND";

function frozen({ name, definition }: Effect<never>, operation: FrozenOperation, bytesMax: number): Frozen {
  const { request, destination = "" } = definition;
  if (request !== undefined) return freeze(request(operation), name, bytesMax);
  const body = bounded(JSON.stringify(operation.input), name, bytesMax);
  return { request: { method: sendMethod, url: destination, contentType: "application/json", body }, destination };
}

type FrozenOperation = Omit<Operation<Json>, "wireKey">;

function bounded(text: string, effect: string, bytesMax: number): Uint8Array {
  const body = new TextEncoder().encode(text);
  if (body.length <= bytesMax) return body;
  throw new Misuse(`Cannot owe "${effect}": its request has ${body.length} bytes, allowed are ${bytesMax}`);
}

function freeze(spec: RequestSpec, effect: string, bytesMax: number): Frozen {
  const url = URL.parse(spec.url);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Misuse(`Cannot owe "${effect}": its request has no absolute http or https URL`);
  }
  const { href, origin: destination } = url;
  if (spec.json === undefined) {
    return { request: { method: spec.method, url: href, contentType: null, body: null }, destination };
  }
  const body = bounded(JSON.stringify(spec.json), effect, bytesMax);
  return { request: { method: spec.method, url: href, contentType: "application/json", body }, destination };
}
