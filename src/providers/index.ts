/**
 * The catalogue of senders, and what it takes to declare another.
 *
 * @module
 */
export { catalogue } from "./catalogue.ts";
export { checkVectors, type ProviderVector, type VectorResult } from "./check-vectors.ts";
export { describeProvider, type ProviderDescription } from "./describe-provider.ts";
export { idempotency, type IdempotencyProfile } from "./idempotency.ts";
export { defineProvider } from "./define-provider.ts";
export { adyen, adyenPlatform } from "./adyen.ts";
export { asana } from "./asana.ts";
export { bigcommerce } from "./bigcommerce.ts";
export { bitbucket } from "./bitbucket.ts";
export { box } from "./box.ts";
export { calendly } from "./calendly.ts";
export { clerk } from "./clerk.ts";
export { coinbaseCommerce } from "./coinbase-commerce.ts";
export { discord, discordInteractions } from "./discord.ts";
export { docusign } from "./docusign.ts";
export { dropbox } from "./dropbox.ts";
export { easypost } from "./easypost.ts";
export { gitlab } from "./gitlab.ts";
export { gocardless } from "./gocardless.ts";
export { hubspot } from "./hubspot.ts";
export { intercom } from "./intercom.ts";
export { jira } from "./jira.ts";
export { lemonSqueezy } from "./lemon-squeezy.ts";
export { line } from "./line.ts";
export { linear } from "./linear.ts";
export { mailgun } from "./mailgun.ts";
export { meta } from "./meta.ts";
export { mollie, mollieClassic } from "./mollie.ts";
export { msgraph } from "./msgraph.ts";
export { notion } from "./notion.ts";
export { openai } from "./openai.ts";
export { paddle } from "./paddle.ts";
export { paypal } from "./paypal.ts";
export { plaid } from "./plaid.ts";
export { polar } from "./polar.ts";
export { quickbooks, quickbooksEvents } from "./quickbooks.ts";
export { razorpay } from "./razorpay.ts";
export { resend } from "./resend.ts";
export { sendgrid } from "./sendgrid.ts";
export { shopify } from "./shopify.ts";
export { slack, slackInteractivity } from "./slack.ts";
export { square } from "./square.ts";
export { svix } from "./svix.ts";
export { telegram } from "./telegram.ts";
export { trello } from "./trello.ts";
export { twilio } from "./twilio.ts";
export { typeform } from "./typeform.ts";
export { vercel } from "./vercel.ts";
export { woocommerce } from "./woocommerce.ts";
export { workos } from "./workos.ts";
export { xero } from "./xero.ts";
export { zendesk } from "./zendesk.ts";
export { zoom } from "./zoom.ts";
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
export type {
  PaypalAmount,
  PaypalCapture,
  PaypalEvents,
  PaypalOrder,
  PaypalRefund,
  PaypalSubscription,
} from "./paypal-events.ts";
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
export type {
  ShopifyEvents,
  ShopifyFulfillment,
  ShopifyLineItem,
  ShopifyOrder,
  ShopifyPrivacyRequest,
  ShopifyRefund,
  ShopifyShop,
} from "./shopify-events.ts";
export type { SquareEvents, SquareMoney, SquareOrderChange, SquarePayment, SquareRefund } from "./square-events.ts";
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
