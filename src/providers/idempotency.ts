/**
 * What providers promise for a call that is made twice, as data that an effect takes as its `idempotency`.
 * Keys are hashes of operation and generation, in the form that the provider takes and cut to its longest.
 *
 * Providers that are not here have no contract of which anything is known but its name, or none at all.
 */
import type { AnswerMark } from "../domain/answer-mark.ts";
import type { Idempotency } from "../domain/effect.ts";

/** A provider's contract for keys, with what its answers look like and how to ask it what happened. */
export type IdempotencyProfile = Exclude<Idempotency, "none"> & {
  /** The answer to another request under a key that was used; goes into the effect's `keyReused`. */
  readonly keyReused?: AnswerMark;
  /** What a request under the key of one that still runs is answered. */
  readonly running?: AnswerMark;
  /** What comes back for a key that was used by the same request. */
  readonly replay?: string;
  /** How to find out what became of an operation. */
  readonly lookupHint?: string;
  /** What no document confirms, by field. */
  readonly unconfirmed?: Readonly<Record<string, string>>;
};

const requestId = { header: "PayPal-Request-Id" } as const;
const paypalAnswers = {
  replay: "the latest status of the first request",
  lookupHint: "search by invoice_id or custom_id",
} as const;

/** Contracts by provider, and by API where one provider has several. */
export const idempotency: {
  readonly stripe: IdempotencyProfile;
  readonly stripeV2: IdempotencyProfile;
  readonly square: IdempotencyProfile;
  readonly adyen: IdempotencyProfile;
  readonly paypal: Readonly<
    Record<
      "ordersV2" | "paymentsV1" | "paymentsV2" | "payouts" | "subscriptions" | "catalog" | "vaultV3",
      IdempotencyProfile
    >
  >;
  readonly plaid: Readonly<Record<"transfer" | "payment" | "wallet", IdempotencyProfile>>;
  readonly resend: IdempotencyProfile;
  readonly gocardless: IdempotencyProfile;
  readonly mollie: IdempotencyProfile;
  readonly xero: IdempotencyProfile;
  readonly zendesk: IdempotencyProfile;
  readonly line: IdempotencyProfile;
  readonly discord: IdempotencyProfile;
  readonly quickbooks: IdempotencyProfile;
} = {
  stripe: {
    header: "Idempotency-Key",
    keyLifetime: "24h",
    lengthMax: 255,
    keyReused: { status: 400, path: ["error", "type"], equals: "idempotency_error" },
    running: { status: 409 },
    replay: "the stored answer, a 500 too; nothing is stored where validation failed",
    lookupHint: "put the operation's key into metadata, and search or list by it",
    unconfirmed: { keyReused: "that it is 400 with idempotency_error is general knowledge" },
  },
  stripeV2: {
    header: "Idempotency-Key",
    keyLifetime: "30d",
    lengthMax: 255,
    running: { status: 409 },
    replay: "failed work is run again to its end",
    lookupHint: "put the operation's key into metadata, and search or list by it",
    unconfirmed: { keyLifetime: "30 days are general knowledge" },
  },
  square: {
    field: "idempotency_key",
    keyLifetime: "1h",
    lengthMax: 45,
    keyReused: { status: 400, path: ["errors", 0, "code"], equals: "IDEMPOTENCY_KEY_REUSED" },
    lookupHint: "set reference_id, and list or search by it",
    unconfirmed: {
      keyLifetime: "Square publishes none; an hour is taken, after which a lookup decides",
      lengthMax: "45 for payments is general knowledge",
      keyReused: "400 with IDEMPOTENCY_KEY_REUSED is general knowledge",
    },
  },
  adyen: {
    header: "Idempotency-Key",
    keyLifetime: "7d",
    lengthMax: 64,
    keyReused: { status: 422, path: ["errorCode"], equals: "704" },
    running: { header: "transient-error", equals: "true" },
    lookupHint: "merchantReference, or the webhook",
    unconfirmed: {
      keyLifetime: "at least 7 days are general knowledge",
      keyReused: "422 with 704 is general knowledge",
      running: "the header transient-error is general knowledge",
    },
  },
  paypal: {
    ordersV2: { ...requestId, ...paypalAnswers, keyLifetime: "6h", lengthMax: 108 },
    paymentsV1: { ...requestId, ...paypalAnswers, keyLifetime: "30d", lengthMax: 78 },
    paymentsV2: { ...requestId, ...paypalAnswers, keyLifetime: "45d" },
    payouts: { ...requestId, ...paypalAnswers, keyLifetime: "30d", lengthMax: 1_000 },
    subscriptions: { ...requestId, ...paypalAnswers, keyLifetime: "72h" },
    catalog: { ...requestId, ...paypalAnswers, keyLifetime: "72h" },
    vaultV3: { ...requestId, ...paypalAnswers, keyLifetime: "3h" },
  },
  plaid: {
    transfer: { field: "idempotency_key", keyLifetime: "48h", lengthMax: 50 },
    payment: { field: "idempotency_key", keyLifetime: "48h", lengthMax: 128 },
    wallet: { field: "idempotency_key", keyLifetime: "24h", lengthMax: 128 },
  },
  resend: {
    header: "Idempotency-Key",
    keyLifetime: "24h",
    lengthMax: 256,
    keyReused: { status: 409, path: ["name"], equals: "invalid_idempotent_request" },
    running: { status: 409, path: ["name"], equals: "concurrent_idempotent_requests" },
    unconfirmed: {
      keyLifetime: "24 hours are general knowledge",
      lengthMax: "256 is general knowledge",
      keyReused: "409 with this name is general knowledge",
      running: "409 with this name is general knowledge",
    },
  },
  gocardless: {
    header: "Idempotency-Key",
    keyLifetime: "30d",
    lengthMax: 128,
    replay: "409 idempotent_creation_conflict with conflicting_resource_id, whatever the new request says",
    lookupHint: "get the conflicting resource and compare it, or search by metadata",
    unconfirmed: { keyLifetime: "30 days are general knowledge", lengthMax: "128 is general knowledge" },
  },
  mollie: {
    header: "Idempotency-Key",
    form: "uuid",
    keyLifetime: "1h",
    lookupHint: "list, and compare metadata",
    unconfirmed: { keyLifetime: "an hour is general knowledge" },
  },
  xero: {
    header: "Idempotency-Key",
    keyLifetime: "6m",
    lengthMax: 128,
    unconfirmed: { keyLifetime: "6 minutes are general knowledge" },
  },
  zendesk: {
    header: "Idempotency-Key",
    keyLifetime: "2h",
    lookupHint: "external_id",
    unconfirmed: { header: "the whole contract, of creating tickets, is general knowledge" },
  },
  line: {
    header: "X-Line-Retry-Key",
    form: "uuid",
    keyLifetime: "24h",
    replay: 'a 409 with the header x-line-accepted-request-id; an effect reads it as done by verdicts: { 409: "done" }',
    unconfirmed: { keyLifetime: "24 hours are general knowledge", replay: "the 409 is general knowledge" },
  },
  discord: {
    field: "nonce",
    form: "compact",
    keyLifetime: "2m",
    lengthMax: 25,
    replay: "the message that the first request made, where the request says enforce_nonce: true",
    unconfirmed: { keyLifetime: 'Discord says "past few minutes"; two are taken, after which a lookup decides' },
  },
  quickbooks: {
    query: "requestid",
    keyLifetime: "1h",
    lengthMax: 50,
    replay: "the same answer for the same requestid",
    unconfirmed: {
      query: "the whole contract is general knowledge",
      keyLifetime: "no document says how long a requestid is kept; an hour is taken, after which a lookup decides",
      lengthMax: "50 is general knowledge",
    },
  },
};
