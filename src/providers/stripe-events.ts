/**
 * The fields of Stripe's events that handlers most often read. For the rest use the SDK's own types:
 * `stripe.typed<Stripe.Event>()`. Amounts are in the currency's minor unit.
 *
 * @module
 */

/** Key-value pairs that you set on an object. */
export interface StripeMetadata {
  readonly [key: string]: string | undefined;
}

/** An attempt to collect one payment. */
export interface StripePaymentIntent {
  readonly id: string;
  readonly object: "payment_intent";
  readonly amount: number;
  readonly amount_received: number;
  readonly currency: string;
  readonly customer: string | null;
  readonly status: string;
  readonly metadata: StripeMetadata;
}

/** Money taken from one payment method. */
export interface StripeCharge {
  readonly id: string;
  readonly object: "charge";
  readonly amount: number;
  readonly amount_refunded: number;
  readonly currency: string;
  readonly payment_intent: string | null;
  readonly refunded: boolean;
  readonly metadata: StripeMetadata;
}

/** One visit to the hosted checkout. */
export interface StripeCheckoutSession {
  readonly id: string;
  readonly object: "checkout.session";
  readonly amount_total: number | null;
  readonly currency: string | null;
  readonly client_reference_id: string | null;
  readonly customer: string | null;
  readonly payment_intent: string | null;
  readonly payment_status: "no_payment_required" | "paid" | "unpaid";
  readonly subscription: string | null;
  readonly metadata: StripeMetadata | null;
}

/** What a customer owes for a period. */
export interface StripeInvoice {
  readonly id: string;
  readonly object: "invoice";
  readonly amount_due: number;
  readonly amount_paid: number;
  readonly currency: string;
  readonly customer: string | null;
  readonly status: string | null;
  readonly metadata: StripeMetadata | null;
}

/** A recurring charge. */
export interface StripeSubscription {
  readonly id: string;
  readonly object: "subscription";
  readonly cancel_at_period_end: boolean;
  readonly customer: string;
  readonly status: string;
  readonly metadata: StripeMetadata;
}

interface Changed<Thing> {
  readonly object: Thing;
  /** On `*.updated`, the old values of what changed. */
  readonly previous_attributes?: Readonly<Record<string, unknown>>;
}

/** `event.data` by event type. */
export interface StripeEvents {
  readonly "payment_intent.succeeded": Changed<StripePaymentIntent>;
  readonly "payment_intent.payment_failed": Changed<StripePaymentIntent>;
  readonly "charge.refunded": Changed<StripeCharge>;
  readonly "checkout.session.completed": Changed<StripeCheckoutSession>;
  readonly "invoice.paid": Changed<StripeInvoice>;
  readonly "customer.subscription.created": Changed<StripeSubscription>;
  readonly "customer.subscription.updated": Changed<StripeSubscription>;
  readonly "customer.subscription.deleted": Changed<StripeSubscription>;
}
