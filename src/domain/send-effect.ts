import type { Duration } from "./duration.ts";
import {
  assertEffect,
  type CommonEffectOptions,
  type Effect,
  type EffectDefinition,
  type Operation,
} from "./effect.ts";
import type { Json } from "./json.ts";

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
export type SendIdempotency = { readonly keyLifetime: Duration; readonly lengthMax?: number } | "none";

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

const known: ReadonlySet<string> = new Set<keyof SendEffectOptions<unknown, unknown>>([
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
  assertEffect(name, options, known);
  return { name, definition: options as unknown as EffectDefinition };
}
