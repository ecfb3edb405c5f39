/**
 * The catalogue of senders, and what it takes to declare another.
 *
 * @module
 */
export { defineProvider } from "./define-provider.ts";
export { generic, type GenericOptions, type GenericSignature } from "./generic.ts";
export type { GithubEvents, GithubIssues, GithubPing, GithubPullRequest, GithubPush } from "./github-events.ts";
export { github } from "./github.ts";
export type {
  ChallengeHandshake,
  Handshake,
  HandshakeAnswer,
  HandshakeRequest,
  Handshakes,
  HandshakeSettings,
  NoteHandshake,
  PresenceHandshake,
  QuestionHandshake,
  SecretHandshake,
} from "./handshake.ts";
export type { EventMap, EventsOf, Provider, ProviderData } from "./provider.ts";
export type {
  AnswerName,
  ArrivalId,
  ContentDigest,
  DerivedId,
  FieldSource,
  IdentityRule,
  ProviderRules,
  ProviderSpec,
} from "./provider-spec.ts";
export { sampleDelivery, signDelivery, type SampleOptions, type SignedDelivery } from "./sample-delivery.ts";
export {
  standardWebhooks,
  standardWebhooksSchemes,
  standardWebhooksTextSecret,
  type StandardWebhooksOptions,
} from "./standard-webhooks.ts";
export type {
  StripeCharge,
  StripeCheckoutSession,
  StripeEvents,
  StripeInvoice,
  StripeMetadata,
  StripePaymentIntent,
  StripeSubscription,
} from "./stripe-events.ts";
export { stripe } from "./stripe.ts";
export type { DeliveryHeaders } from "../verify/delivery-headers.ts";
export type { FetchKey } from "../verify/fetched-keys.ts";
export type {
  Authenticated,
  EcdsaScheme,
  Ed25519Scheme,
  Encoding,
  FieldsScheme,
  HeaderScheme,
  HmacScheme,
  JwsScheme,
  KeyText,
  RsaScheme,
  Scheme,
  SignatureGrammar,
  SignedPart,
  TimestampRule,
  TokenScheme,
} from "../verify/scheme.ts";
