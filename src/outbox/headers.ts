/** Header fields by name, one value each. */
export type HeaderFields = Readonly<Record<string, string>>;

/** Either the headers to send, or why they cannot be sent. The reason names a header, never its value. */
export type Merged =
  | { readonly fits: true; readonly headers: HeaderFields }
  | { readonly fits: false; readonly problem: string };

/** Fields that frame the message or belong to the connection: who sets one can smuggle a second request. */
const reserved: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** A token. Source: RFC 9110, section 5.6.2. */
const namePattern = /^[\w!#$%&'*+.^`|~-]+$/;
/** Visible Latin-1, space and tab. Anything else is either an injection or a character that would be sent as another. */
const valuePattern = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Settings of {@link mergeHeaders}. */
export interface MergeOptions {
  /** Headers that Counterfoil sets, such as the idempotency key. They win; to set one of them again is refused. */
  readonly system: HeaderFields;
  /** Largest size of all headers together. */
  readonly bytesMax: number;
}

/**
 * Puts an effect's own headers and the system's together, or says why they cannot be: a name that is
 * no token, that is reserved or the system's in any case, or that is there twice; a value with a
 * control character (CR and LF above all) or beyond Latin-1. Names count as equal when they differ in
 * case or in `_` for `-`, since servers behind CGI or WSGI read them as one.
 *
 * A declared key header is checked with it, and so is every call, since headers are asked for each.
 *
 * @example
 * ```ts
 * mergeHeaders({ authorization: "Bearer t" }, { system: { "idempotency-key": "cf-1" }, bytesMax: 16_384 });
 * mergeHeaders({ "IDEMPOTENCY_KEY": "mine" }, { system: { "idempotency-key": "cf-1" }, bytesMax: 16_384 }).fits; // false
 * ```
 */
export function mergeHeaders(own: HeaderFields, { system, bytesMax }: MergeOptions): Merged {
  const taken = new Set(Object.keys(system).map(folded));
  for (const [name, value] of Object.entries(own)) {
    const problem = nameProblem(name, taken) ?? valueProblem(name, value);
    if (problem !== undefined) return { fits: false, problem };
    taken.add(folded(name));
  }
  for (const [name, value] of Object.entries(system)) {
    const problem = tokenProblem(name) ?? valueProblem(name, value);
    if (problem !== undefined) return { fits: false, problem };
  }
  const headers = { ...own, ...system };
  // A field line adds ": " and CRLF to its name and value.
  const bytes = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  if (bytes > bytesMax) return { fits: false, problem: `headers have ${bytes} bytes, allowed are ${bytesMax}` };
  return { fits: true, headers };
}

/**
 * Says why a value cannot be headers at all, to follow "the effect's headers"; `undefined` when it can.
 * What is no plain object must not be spread: of a promise, a `Headers` or a `Map` nothing would be
 * left, and the call would go out without its credentials.
 */
export function shapeProblem(given: unknown): string | undefined {
  if (!isPlainObject(given)) return `are ${kindOf(given)}; give a plain object of strings`;
  const wrong = Object.entries<unknown>({ ...given }).find(([, value]) => typeof value !== "string");
  if (wrong === undefined) return undefined;
  const [name, value] = wrong;
  return `do not fit: ${tokenProblem(name) ?? valueProblem(name, value)}`;
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // The second look also takes an object literal of another realm.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object with a class, such as Headers or Map" : `a ${typeof value}`;
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

function nameProblem(name: string, taken: ReadonlySet<string>): string | undefined {
  if (reserved.has(folded(name))) return `header ${name} belongs to the connection and cannot be set`;
  if (taken.has(folded(name))) return `header ${name} is already set, and cannot be set again`;
  return tokenProblem(name);
}

/** A name that is no token is not quoted: it may be a whole header line, with a secret in it. */
function tokenProblem(name: string): string | undefined {
  return namePattern.test(name) ? undefined : `a header name has ${name.length} characters that make no header name`;
}

function valueProblem(name: string, value: unknown): string | undefined {
  if (typeof value !== "string") return `header ${name} is ${value === null ? "null" : typeof value}, not a string`;
  if (valuePattern.test(value)) return undefined;
  return `header ${name} has a line break, another control character, or a character beyond Latin-1 in its value`;
}
