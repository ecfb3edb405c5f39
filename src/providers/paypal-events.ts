/**
 * The fields of PayPal's webhooks that handlers most often read; `event.data` is the webhook's resource. Amounts
 * are decimal text in the currency's major unit.
 *
 * Source: https://developer.paypal.com/docs/api/payments/v2/ and https://developer.paypal.com/docs/api/orders/v2/
 *
 * @module
 */
import type { EventMap } from "./provider.ts";

/** A sum of money. */
export interface PaypalAmount {
  readonly currency_code: string;
  readonly value: string;
}

interface Named {
  readonly id: string;
  readonly status: string;
  readonly create_time?: string;
  readonly update_time?: string;
  /** What you gave as your own id. */
  readonly custom_id?: string;
  readonly invoice_id?: string;
  /** The one with `rel` "up" leads to what this belongs to, such as a refund's capture. */
  readonly links?: readonly { readonly href: string; readonly rel: string }[];
}

/** Money that was taken. */
export interface PaypalCapture extends Named {
  readonly amount: PaypalAmount;
  readonly final_capture?: boolean;
  readonly supplementary_data?: {
    readonly related_ids?: { readonly order_id?: string; readonly authorization_id?: string };
  };
}

/** Money that went back. */
export interface PaypalRefund extends Named {
  readonly amount: PaypalAmount;
}

/** What a buyer agreed to pay. */
export interface PaypalOrder extends Named {
  readonly intent: string;
  readonly purchase_units: readonly {
    readonly reference_id?: string;
    readonly custom_id?: string;
    readonly invoice_id?: string;
    readonly amount: PaypalAmount;
  }[];
}

/** A recurring payment. */
export interface PaypalSubscription extends Named {
  readonly plan_id: string;
}

/** `event.data` by event type. Other types are `unknown`: give them a schema. */
export interface PaypalEvents extends EventMap {
  readonly "CHECKOUT.ORDER.APPROVED": PaypalOrder;
  readonly "CHECKOUT.ORDER.COMPLETED": PaypalOrder;
  readonly "PAYMENT.CAPTURE.COMPLETED": PaypalCapture;
  readonly "PAYMENT.CAPTURE.PENDING": PaypalCapture;
  readonly "PAYMENT.CAPTURE.DENIED": PaypalCapture;
  readonly "PAYMENT.CAPTURE.REFUNDED": PaypalRefund;
  readonly "PAYMENT.CAPTURE.REVERSED": PaypalRefund;
  readonly "BILLING.SUBSCRIPTION.ACTIVATED": PaypalSubscription;
  readonly "BILLING.SUBSCRIPTION.CANCELLED": PaypalSubscription;
  readonly "BILLING.SUBSCRIPTION.SUSPENDED": PaypalSubscription;
  readonly "BILLING.SUBSCRIPTION.EXPIRED": PaypalSubscription;
}
