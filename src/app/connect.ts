import { type Duration, durationMs } from "../domain/duration.ts";
import { CounterfoilError } from "../domain/errors.ts";
import type { Event, Handler } from "../domain/handler.ts";
import { defaults, type Limits } from "../domain/limits.ts";
import { namePart } from "../domain/names.ts";
import { isFinalStatus } from "../http/answer.ts";
import { largestBody } from "../http/body-pool.ts";
import { type Connection, type MissingMode, missingModes, type Sender, type TenantOf } from "../inbox/connection.ts";
import type { HandshakeSettings } from "../providers/handshake.ts";
import type { ProviderRules } from "../providers/provider-spec.ts";
import type { Capabilities } from "../store/store.ts";
import type { FetchKey } from "../verify/fetched-keys.ts";
import { emptyKeyring, openKeyring } from "../verify/keyring.ts";
import { bareSecrets, type GivenSecret, secretEnds } from "./ending-secrets.ts";
import { fetchCertificate } from "./fetch-certificate.ts";

/** One source of events: who sends, with which secrets, for whom, and what its events do. */
export interface ConnectOptions<Name extends string> {
  /** Who sends: a preset of `counterfoil/providers`, or one of your own. */
  readonly provider: Sender<Name>;
  /**
   * Secrets that are accepted, the new one beside the old during a rotation. `undefined` entries are skipped.
   * One with an end, `{ secret, until }`, is told of beforehand.
   */
  readonly secrets: readonly GivenSecret[];
  /** Whose data this is: fixed, or by signed account (`null` refuses the account). Never changes meaning once used. */
  readonly tenant: string | TenantOf;
  readonly handlers: readonly Handler<NoInfer<Name>>[];
  /**
   * What becomes of an event whose handler fails: `hold` keeps and retries it, `refuse` answers 500 and
   * leaves it to the sender's retries. A provider that never retries cannot have `refuse`.
   *
   * @default "hold"
   */
  readonly failing?: "hold" | "refuse";
  /**
   * When handlers run: before the answer, or `later`. Then the event is kept durably and answered 202 at
   * once, and a worker applies it.
   *
   * @default "now"
   */
  readonly apply?: "now" | "later";
  /**
   * Names a line in which events are applied one after the other, as they came or by `releaseBy`: what
   * comes behind an event that is queued, held, parked or in conflict waits for its decision. `null` for an
   * event of no line. Lines are per account, and none delays another.
   */
  readonly order?: (event: Event) => string | null;
  /** Take only events of this mode; others are `ignored`. */
  readonly mode?: "live" | "test";
  /**
   * What becomes of an event that does not tell its mode, where `mode` is set: it is kept for the operator, ignored,
   * or taken as one of this mode.
   *
   * @default "quarantine"
   */
  readonly missingMode?: MissingMode;
  /** Largest body in bytes; the provider's own cap by default. */
  readonly bodyBytesMax?: number;
  /** How long payload bytes stay after a final outcome; `"0s"` keeps none. */
  readonly retention?: { readonly bytes: Duration };
  /**
   * Where the provider does not sign its event ids: how long the same content under another id is `suspect`.
   * The provider's own window by default; `"0s"` suspects nothing. At most the limit `historyMs`.
   */
  readonly suspectWindow?: Duration;
  /**
   * How long no new event may come before `onAttention`, `doctor` and the list of what needs you tell of it;
   * of a connection that has had one. Not of those that a function finds.
   *
   * @default nobody minds
   */
  readonly silentAfter?: Duration;
  /** Orders events that one arrival releases, and those of one line; smaller first. */
  readonly releaseBy?: (event: Event) => number;
  /**
   * The URL that the provider was given, without its query, for those that sign it. What a proxy says in
   * headers about the URL counts for nothing.
   */
  readonly publicUrl?: string;
  /** Fetches a key that the provider names, such as by `kid`; certificates are fetched over https by default. */
  readonly fetchKey?: FetchKey;
  /**
   * Certificates in PEM. Where a provider names a certificate that is fetched, it then has to lead to one of
   * these, through others that come with it; an intermediate counts as well as a root. By default a certificate
   * counts that came over https from a host of the provider's.
   */
  readonly authorities?: readonly string[];
  /** What the provider's handshake needs: the token that it repeats, or who takes a secret that it sends once. */
  readonly handshake?: HandshakeSettings;
}

/** A connection as configured; `defineApp` checks it and makes it ready. */
export interface ConnectionConfig {
  readonly id: string;
  readonly options: ConnectOptions<string>;
}

/**
 * Configures one source of webhooks.
 *
 * @example
 * ```ts no-run
 * connect("stripe", { provider: stripe, secrets: [process.env.STRIPE_SECRET], tenant: "acme", handlers: [paid] });
 * ```
 */
export function connect<Name extends string>(id: string, options: ConnectOptions<Name>): ConnectionConfig {
  return { id, options };
}

/** A connection made ready, and why it cannot be served, if it cannot. */
export interface Prepared {
  readonly connection: Connection;
  /** A problem with its secrets: stops `serve`, not `list` or `migrate`. Its keyring then refuses everything. */
  readonly problem: string | null;
}

/** Types are gone at run time: a mistyped option would be ignored without a word. */
const known: ReadonlySet<string> = new Set<keyof ConnectOptions<string>>([
  "provider",
  "secrets",
  "tenant",
  "handlers",
  "failing",
  "mode",
  "missingMode",
  "bodyBytesMax",
  "retention",
  "suspectWindow",
  "silentAfter",
  "releaseBy",
  "publicUrl",
  "fetchKey",
  "authorities",
  "handshake",
  "apply",
  "order",
]);

/** What a connection is checked by. */
export interface Checking {
  readonly limits: Limits;
  readonly capabilities: Capabilities;
  /** Its deliveries may wait for the function that finds it. */
  readonly isFound?: boolean;
}

/** Checks a connection and makes it ready; throws CONFIG_INVALID for what no command can work with. */
export function prepareConnection({ id, options }: ConnectionConfig, checking: Checking): Prepared {
  const { limits, capabilities } = checking;
  const { provider, tenant, failing = "hold", apply = "now" } = options;
  const { rules } = provider;
  // The id of one that a function finds is its path, which may have several segments.
  if (!id.split("/").every((segment) => /^[A-Za-z0-9][\w.-]{0,63}$/.test(segment))) {
    invalid(id, "its id must be 1 to 64 letters, digits, dots, dashes and underscores");
  }
  if (typeof tenant === "string" && namePart(tenant) !== undefined) invalid(id, `its tenant ${namePart(tenant)}`);
  const unknown = Object.keys(options).find((option) => !known.has(option));
  if (unknown !== undefined) invalid(id, `there is no option "${unknown}"; known are ${[...known].join(", ")}`);
  if (options.mode !== undefined && rules.identity.mode === undefined) {
    invalid(id, `events of ${provider.name} do not tell their mode; leave mode out`);
  }
  if (failing === "refuse" && !rules.retries) {
    invalid(
      id,
      `${provider.name} does not send again what was refused, so failing: "refuse" would lose events; use "hold"`,
    );
  }
  if (apply !== "now" && apply !== "later") invalid(id, `apply is "now" or "later", not "${String(apply)}"`);
  if (failing === "refuse" && apply === "later") {
    invalid(
      id,
      'what is applied later was answered before its handler runs, so it cannot be refused; use failing: "hold"',
    );
  }
  const leastHandlerMs = capabilities.handlersSettleAtOnce || apply === "later" ? 0 : handlerMsMin;
  const unusable = answersProblem(rules) ?? patienceProblem(rules, { ...checking, leastHandlerMs });
  if (unusable !== undefined) invalid(id, unusable);
  const bodyBytesMax =
    options.bodyBytesMax ?? (rules.bodyBytesMax > defaults.bodyBytes ? rules.bodyBytesMax : limits.bodyBytes);
  if (bodyBytesMax > largestBody(limits.bodyBytesReading)) {
    invalid(
      id,
      `a body may have ${bodyBytesMax} bytes, and all together ${limits.bodyBytesReading}; raise the limit bodyBytesReading to twice the former, or lower bodyBytesMax`,
    );
  }
  if (options.publicUrl !== undefined && !isPlainUrl(options.publicUrl)) {
    invalid(id, "its publicUrl is no http or https URL without query and fragment");
  }
  const { publicUrl, authorities } = options;
  const endingSecrets = secretEnds(id, options.secrets);
  const fetchKey = keyFetcher(rules, options);
  const keyring = openKeyring(rules.schemes, bareSecrets(options.secrets), { publicUrl, fetchKey, authorities });
  const usable = keyring.kind === "usable";
  const connection: Connection = {
    id,
    provider,
    keyring: usable ? keyring : emptyKeyring,
    tenant,
    handlers: handlersByType(id, options),
    failing,
    mode: options.mode ?? null,
    missingMode: missingMode(id, options),
    bodyBytesMax,
    handlerMs: handlerMsOf(rules, checking),
    bytesKeptMs: options.retention ? durationMs(options.retention.bytes) : limits.bytesMs,
    replayWindowMs: suspectWindowMs(id, options, limits),
    releaseBy: options.releaseBy ?? null,
    handshake: options.handshake ?? {},
    apply,
    order: options.order ?? null,
    silentAfterMs: silentAfterMs(id, options, checking),
    endingSecrets,
  };
  secrets.set(connection, bareSecrets(options.secrets));
  return { connection, problem: usable ? null : `Cannot serve connection "${id}": ${keyring.message}` };
}

function missingMode(id: string, { mode, missingMode: chosen }: ConnectOptions<string>): MissingMode {
  if (chosen === undefined) return "quarantine";
  if (!missingModes.includes(chosen)) {
    invalid(id, `missingMode is one of ${missingModes.join(", ")}, not "${String(chosen)}"`);
  }
  if (mode === undefined) invalid(id, "missingMode is for a connection that takes one mode only; set mode too");
  return chosen;
}

function silentAfterMs(id: string, { silentAfter }: ConnectOptions<string>, { isFound }: Checking): number | null {
  if (silentAfter === undefined) return null;
  if (!isFound) return durationMs(silentAfter);
  return invalid(
    id,
    "a function finds it only while something comes, so nobody sees it fall silent; leave silentAfter out",
  );
}

/** A suspect is judged beside its original, of which nothing but the key is left when its history is gone. */
function suspectWindowMs(id: string, { suspectWindow, provider }: ConnectOptions<string>, limits: Limits): number {
  if (suspectWindow === undefined) return provider.rules.replayWindowMs;
  const windowMs = durationMs(suspectWindow);
  if (windowMs <= limits.historyMs) return windowMs;
  return invalid(
    id,
    `its suspectWindow is ${windowMs} ms, and history is kept for ${limits.historyMs} ms; shorten it, or raise the limit historyMs`,
  );
}

/** Secrets by connection, for trial deliveries only; verifying has keys of its own. */
const secrets = new WeakMap<Connection, readonly (string | undefined)[]>();

/** What a connection's trial deliveries are signed with. */
export function secretsOf(connection: Connection): readonly (string | undefined)[] {
  return secrets.get(connection) ?? [];
}

/** Certificates have a URL, which anybody can fetch; keys by id have to be asked for with the user's own credentials. */
function keyFetcher({ schemes }: ProviderRules, { fetchKey }: ConnectOptions<string>): FetchKey | undefined {
  return fetchKey ?? (schemes.some(({ kind }) => kind === "rsa") ? fetchCertificate : undefined);
}

function isPlainUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && !/[?#]/.test(text);
}

function answersProblem({ name, answers }: ProviderRules): string | undefined {
  const bad = Object.entries(answers).find(([, status]) => !isFinalStatus(status));
  return bad && `${name} answers ${bad[0]} with ${bad[1]}; give a status from 200 to 599`;
}

/** What a delivery waits by: the limits, and whether its connection has to be found first. */
type Waiting = Pick<Checking, "limits" | "isFound">;

/** What a delivery may wait for beside its own handler: its connection, a group, the group's locks, and the handlers of others. */
function waitsOf({
  limits,
  isFound = false,
}: Waiting): readonly { readonly limit: keyof Limits; readonly ms: number }[] {
  const waits = ["queueMs", "lockMs", "groupMs"] as const;
  return (isFound ? (["findMs", ...waits] as const) : waits).map((limit) => ({ limit, ms: limits[limit] }));
}

/** The longest that a delivery waits before its own handler runs and its commit begins. */
export function answerMsOf(waiting: Waiting): number {
  return waitsOf(waiting).reduce((sum, { ms }) => sum + ms, 0);
}

/** Time that a handler has while its sender waits; the commit after it has half a second, or as much as the handler. */
function handlerMsOf({ ackMs }: ProviderRules, waiting: Waiting): number {
  const leftMs = ackMs - answerMsOf(waiting);
  return Math.min(waiting.limits.handlerMs, Math.floor(Math.max(leftMs / 2, leftMs - 500)));
}

/** Time for a handler, where it may wait, and its commit at least. */
const handlerMsMin = 100;

/** A sender that has stopped waiting sends again what was taken, and counts the connection as failing. */
function patienceProblem(
  { name, ackMs }: ProviderRules,
  { leastHandlerMs, ...waiting }: Waiting & { readonly leastHandlerMs: number },
): string | undefined {
  // The commit has what is left.
  const waits = waitsOf(waiting);
  const answerMs = answerMsOf(waiting) + leastHandlerMs;
  if (answerMs < ackMs) return undefined;
  const terms = waits.map(({ limit, ms }) => `${limit} ${ms}`).join(" + ");
  const handler = leastHandlerMs > 0 ? ` + ${leastHandlerMs} for its handler and commit` : "";
  const [longest] = waits.toSorted((left, right) => right.ms - left.ms);
  return `${name} waits ${ackMs} ms for an answer, which may take ${answerMs} ms (${terms}${handler}); lower the limit ${longest?.limit}`;
}

function handlersByType(id: string, { provider, handlers }: ConnectOptions<string>): ReadonlyMap<string, Handler> {
  const byType = new Map<string, Handler>();
  for (const handler of handlers) {
    if (handler.provider !== provider.name) {
      invalid(id, `its handler for "${handler.type}" is of ${handler.provider}, the connection is of ${provider.name}`);
    }
    if (byType.has(handler.type)) {
      invalid(id, `two handlers are registered for "${handler.type}"; register one that does both`);
    }
    byType.set(handler.type, handler);
  }
  return byType;
}

function invalid(id: string, problem: string): never {
  throw new CounterfoilError("CONFIG_INVALID", `Cannot use connection "${id}": ${problem}`);
}
