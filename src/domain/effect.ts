import type { AnswerMark } from "./answer-mark.ts";
import type { Arrived } from "./arrived.ts";
import type { Duration } from "./duration.ts";
import type { Json } from "./json.ts";
import type { KeyForm } from "./key-life.ts";
import type { Reached } from "./obligation.ts";
import type { Schema } from "./schema.ts";
import type { Tx } from "./sql.ts";
import type { Withdraw } from "./withdraw.ts";

/** One owed operation, as an effect's functions see it. */
export interface Operation<Input> {
  /** The operation key with its tenant in front: `acme/order-1/fulfil/v1`. Names it at the provider, across keys. */
  readonly key: string;
  /** What goes out as the idempotency key: derived from the key and its generation. */
  readonly wireKey: string;
  readonly tenant: string;
  readonly input: Input;
}

/** What is known of an operation that took effect. */
export type Result<Answer> =
  | { readonly source: "answer"; readonly status: number; readonly answer: Answer }
  | { readonly source: "lookup"; readonly answer: Answer }
  | { readonly source: "operator"; readonly answer: Answer };

/** What `settled` gets: the transaction that records the end of an operation, the operation and its result. */
export interface SettledContext<Input, Answer> {
  readonly tx: Tx;
  readonly operation: Operation<Input>;
  readonly result: Result<Answer>;
  readonly owe: Owe;
  readonly withdraw: Withdraw;
  readonly arrived: Arrived;
}

/** How an operation was given up. */
export interface Abandoned {
  /** Taken back by the application, or cancelled by an operator. */
  readonly by: "withdrawn" | "cancelled";
  /** How far it may have got at the provider all the same. */
  readonly reached: Reached;
  readonly reason: string | null;
}

/** What `abandoned` gets: the transaction that records the end of an operation, and how it was given up. */
export interface AbandonedContext<Input> extends Omit<SettledContext<Input, never>, "result"> {
  readonly abandoned: Abandoned;
}

/** What an effect asks the provider to do. Built once, inside the transaction, then frozen. */
export interface RequestSpec {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly json?: Json;
}

/** How long a provider keeps a key, and what keys it takes. */
interface KeyContract {
  readonly keyLifetime: Duration;
  /** The most characters that it takes. */
  readonly lengthMax?: number;
  /** How the key is written: `text` by default, or `uuid`, or `compact` where fewer than 32 characters are taken. */
  readonly form?: KeyForm;
}

/**
 * Where the idempotency key travels and how long the provider keeps it: in a header, a field of the JSON body,
 * or a parameter of the URL's query. `"none"` where it has no contract.
 */
export type Idempotency =
  | (KeyContract & { readonly header: string })
  | (KeyContract & { readonly field: string })
  | (KeyContract & { readonly query: string })
  | "none";

/** Asking the provider whether an operation took effect. A throw or an undeclared non-2xx is unknown. */
export interface Lookup<Input, Answer, Found> {
  /** The URL to GET. */
  readonly get: (operation: Operation<Input>) => string;
  readonly answer?: Schema<Found>;
  /**
   * The answer as a call would have been given it, or `undefined` for absent. It is stored as JSON, and
   * `settled` reads it through the effect's `answer` like any other: what does not fit is shown, not used.
   */
  readonly found: (json: Found) => NoInfer<Answer> | undefined;
  /** Non-2xx statuses that mean absent, such as 404. */
  readonly absentOn?: readonly number[];
  /** How long after the last call's end an answer "absent" counts; at least the provider's own delay. */
  readonly settleDelay?: Duration;
}

/** Verdicts that an effect may give to a status instead of the documented table's. */
export type StatusVerdict = "done" | "again" | "unknown" | "running" | "pause" | "permanent" | "key_reused";

/** What every effect declares, however it calls. */
export interface CommonEffectOptions<Input, Answer> {
  readonly input: Schema<Input>;
  readonly answer?: Schema<Answer>;
  /** Runs after verdict and answer are committed; retried from the stored answer, never causes a re-send. */
  readonly settled?: (context: SettledContext<Input, NoInfer<Answer>>) => unknown;
  /**
   * The twin of `settled` for what was withdrawn or cancelled: runs after that is committed, from what is
   * stored, and again until it is done. It never runs for an operation that was taken back before it was owed.
   */
  readonly abandoned?: (context: AbandonedContext<Input>) => unknown;
  /**
   * Names that it had before: what is owed under them is carried out by this definition, which must take the
   * same inputs, and send the key the same way.
   */
  readonly aliases?: readonly `${string}/v${number}`[];
  /** Longest time for one call. */
  readonly timeout?: Duration;
  /** Tries before the obligation is the operator's. */
  readonly attemptsMax?: number;
  /** Calls in flight to one destination, per process. */
  readonly concurrency?: number;
  /** Calls and lookups that may begin to one destination in a time, per process: divide it by the number of workers. */
  readonly rate?: { readonly calls: number; readonly per: Duration };
  /** Statuses that this provider means otherwise than the documented table says. */
  readonly verdicts?: Readonly<Record<number, StatusVerdict>>;
}

/** How an effect is requested, recognised at the provider, looked up and settled. */
export interface EffectOptions<Input, Answer, Found> extends CommonEffectOptions<Input, Answer> {
  /** Sees no `wireKey`: what it builds is frozen, and would keep a key that has been renewed since. */
  readonly request: (operation: Omit<Operation<Input>, "wireKey">) => RequestSpec;
  /**
   * Credentials and the like, by tenant if need be: asked for every call, never stored. What takes longer
   * than a call may, throws, or is no plain object of strings is "not sent", and asked again later.
   */
  readonly headers?: (
    operation: Operation<Input>,
  ) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  readonly idempotency: Idempotency;
  readonly lookup?: Lookup<Input, Answer, Found>;
  /** Origins that may be called although they are not public https; everything else passes the SSRF guard. */
  readonly allow?: readonly string[];
  /** The answer "this key was used for another request", where its status alone does not say so. */
  readonly keyReused?: AnswerMark;
  /** The mark of an answer that the provider stored and gives again under the same key. */
  readonly replayed?: AnswerMark;
}

declare const inputOf: unique symbol;

/** The definition behind an effect, with its types erased; read by the outbox only. */
export type EffectDefinition = CommonEffectOptions<unknown, unknown> &
  Partial<Omit<EffectOptions<unknown, unknown, unknown>, "idempotency" | "lookup">> &
  Partial<Omit<SendEffectOptions<unknown, unknown>, "idempotency" | "lookup">> & {
    readonly idempotency: Idempotency | SendIdempotency;
    readonly lookup?: Lookup<unknown, unknown, unknown> | SendLookup<unknown, unknown>;
  };

/** A kind of outside call, registered under a name and version. */
export interface Effect<in Input = never> {
  readonly name: string;
  readonly definition: EffectDefinition;
  readonly [inputOf]?: (input: Input) => void;
}

/** What is owed: which operation, and when. */
export interface Owed<Input> {
  /** Names the business operation, not the event; an intended replacement is another version. */
  readonly key: readonly [string, ...string[]];
  readonly input: Input;
  /** The earliest time of its first attempt. */
  readonly notBefore?: Date;
  /**
   * Names what it must not overtake: obligations of a tenant with one order key take effect in the order
   * in which they were owed, whatever their effects. One that is stuck holds up its own order key alone.
   */
  readonly orderKey?: readonly [string, ...string[]];
}

/** Records an owed effect; the same key owes it once. */
export interface Owe {
  <Input>(effect: Effect<Input>, owed: Owed<NoInfer<Input>>): Promise<void>;
}

/** Types are gone at run time: a mistyped option would be ignored without a word. */
const known: ReadonlySet<string> = new Set<keyof EffectOptions<unknown, unknown, unknown>>([
  "input",
  "answer",
  "request",
  "headers",
  "idempotency",
  "lookup",
  "settled",
  "abandoned",
  "aliases",
  "allow",
  "timeout",
  "attemptsMax",
  "concurrency",
  "rate",
  "verdicts",
  "keyReused",
  "replayed",
]);

/**
 * Declares an effect.
 *
 * @throws TypeError when the name has no version.
 * @example
 * ```ts no-run
 * const mail = effect("mail/v1", {
 *   input: type<{ to: string }>(),
 *   request: ({ input }) => ({ method: "POST", url: "https://mail.example/send", json: input }),
 *   idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
 * });
 * ```
 */
export function effect<Input extends Json, Answer = unknown, Found = unknown>(
  name: `${string}/v${number}`,
  options: EffectOptions<Input, Answer, Found>,
): Effect<Input> {
  assertEffect(name, options, known);
  return { name, definition: options as unknown as EffectDefinition };
}

function assertEffect(name: string, options: object, knownOptions: ReadonlySet<string>): void {
  if (!/^[A-Za-z0-9][\w.-]*\/v\d+$/.test(name)) {
    throw new TypeError(`Cannot declare effect "${name}": give it a name and a version, such as "ship/v1"`);
  }
  const unknown = Object.keys(options).find((option) => !knownOptions.has(option));
  if (unknown !== undefined) {
    throw new TypeError(
      `Cannot declare effect "${name}": there is no option "${unknown}"; known are ${[...knownOptions].join(", ")}`,
    );
  }
}

declare const sending: unique symbol;

/** What a `send` function gives back, or throws: how its call ended. Made by the functions it is given. */
export interface Sending {
  readonly [sending]: true;
}

/** What else an answer said. */
export interface AnsweredDetails {
  /** The Retry-After header as it came. */
  readonly retryAfter?: string | undefined;
  /** The provider said that the key was used for another request: the operator's, never a loop. */
  readonly keyReused?: boolean;
  /** A short word for people, such as the provider's error code; never a payload. */
  readonly reason?: string | undefined;
}

/** What a `send` function works with. */
export interface SendContext<Input, Answer> {
  readonly operation: Operation<Input>;
  /** Goes to the provider as it is: the same for every attempt of this operation, until its key is renewed. */
  readonly idempotencyKey: string;
  /** Aborts when the lease is lost, the time is up, or the worker stops; hand it on where the SDK takes one. */
  readonly signal: AbortSignal;
  /** It took effect, with this answer, which is stored as JSON for `settled`. */
  readonly done: (answer: Answer) => Sending;
  /** The provider answered with this status, which is read by the same table as that of any other effect. */
  readonly answered: (status: number, details?: AnsweredDetails) => Sending;
  /** Certainly nothing was sent; it is tried again. */
  readonly unsent: (reason: string) => Sending;
  /** Certainly refused, and a repeat would be: the operator's. */
  readonly declined: (reason: string) => Sending;
}

/** Asking the provider by its SDK whether an operation took effect. */
export interface SendLookup<Input, Answer> {
  /** The answer as a call would have been given it, or `undefined` for absent. A throw is unknown. */
  readonly ask: (context: {
    readonly operation: Operation<Input>;
    readonly signal: AbortSignal;
  }) => Promise<Answer | undefined>;
  /** How long after the last call's end an answer "absent" counts; at least the provider's own delay. */
  readonly settleDelay?: Duration;
}

/** How long the provider keeps the key that `send` hands over; `"none"` where it has no contract. */
export type SendIdempotency = KeyContract | "none";

/** An effect that calls by an SDK. */
export interface SendEffectOptions<Input, Answer> extends CommonEffectOptions<Input, Answer> {
  /** Names what is called, such as `https://api.stripe.com`: pauses, breaker and bounds go by it. */
  readonly destination: string;
  /**
   * Makes one call, with an SDK that does not try again by itself. It returns, or throws, what `done`,
   * `answered`, `unsent` or `declined` gave. Whatever else it throws, returns, or does not in time, may have
   * taken effect: the same rules then hold as for a lost answer.
   */
  readonly send: (context: SendContext<Input, Answer>) => Promise<Sending>;
  readonly idempotency: SendIdempotency;
  readonly lookup?: SendLookup<Input, NoInfer<Answer>>;
}

const knownOfSend: ReadonlySet<string> = new Set<keyof SendEffectOptions<unknown, unknown>>([
  "input",
  "answer",
  "destination",
  "send",
  "idempotency",
  "lookup",
  "settled",
  "abandoned",
  "aliases",
  "timeout",
  "attemptsMax",
  "concurrency",
  "rate",
  "verdicts",
]);

/**
 * Declares an effect that calls by an SDK. Its input is frozen when it is owed; states, attempts, keys and
 * verdicts are those of any other effect.
 *
 * @throws TypeError when the name has no version, or an option is not known.
 * @example
 * ```ts no-run
 * const refund = sendEffect("refund/v1", {
 *   input: type<{ charge: string }>(),
 *   answer: type<{ id: string }>(),
 *   destination: "https://api.stripe.com",
 *   idempotency: { keyLifetime: "24h" },
 *   send: async ({ operation, idempotencyKey, done, answered }) => {
 *     try {
 *       return done(await stripe.refunds.create({ charge: operation.input.charge }, { idempotencyKey }));
 *     } catch (error) {
 *       if (error instanceof Stripe.errors.StripeError && error.statusCode) throw answered(error.statusCode);
 *       throw error;
 *     }
 *   },
 * });
 * ```
 */
export function sendEffect<Input extends Json, Answer = unknown>(
  name: `${string}/v${number}`,
  options: SendEffectOptions<Input, Answer>,
): Effect<Input> {
  assertEffect(name, options, knownOfSend);
  return { name, definition: options as unknown as EffectDefinition };
}
