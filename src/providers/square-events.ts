/**
 * The fields of Square's webhooks that handlers most often read; `event.data` is the webhook's data. Amounts are
 * in the currency's smallest unit.
 *
 * Source: https://developer.squareup.com/reference/square/webhooks
 *
 * @module
 */
import type { EventMap } from "./provider.ts";

/** A sum of money. */
export interface SquareMoney {
  readonly amount: number;
  readonly currency: string;
}

interface Counted {
  /** Grows with each change. */
  readonly version?: number;
  readonly created_at: string;
  readonly updated_at?: string;
}

/** A payment, in its state when the webhook was made. */
export interface SquarePayment extends Counted {
  readonly id: string;
  readonly status: string;
  readonly amount_money: SquareMoney;
  readonly total_money?: SquareMoney;
  readonly refunded_money?: SquareMoney;
  readonly order_id?: string;
  readonly location_id?: string;
  /** What you gave as your own id. */
  readonly reference_id?: string;
}

/** Money that goes back. */
export interface SquareRefund extends Counted {
  readonly id: string;
  readonly status: string;
  readonly amount_money: SquareMoney;
  readonly payment_id?: string;
  readonly order_id?: string;
  readonly reason?: string;
}

/** That an order has changed; what it is now has to be asked for. */
export interface SquareOrderChange extends Counted {
  readonly order_id: string;
  readonly location_id: string;
  readonly state: string;
}

interface About<Objects> {
  readonly type: string;
  readonly id: string;
  readonly object: Objects;
}

/** `event.data` by event type. Other types are `unknown`: give them a schema. */
export interface SquareEvents extends EventMap {
  readonly "payment.created": About<{ readonly payment: SquarePayment }>;
  readonly "payment.updated": About<{ readonly payment: SquarePayment }>;
  readonly "refund.created": About<{ readonly refund: SquareRefund }>;
  readonly "refund.updated": About<{ readonly refund: SquareRefund }>;
  readonly "order.created": About<{ readonly order_created: SquareOrderChange }>;
  readonly "order.updated": About<{ readonly order_updated: SquareOrderChange }>;
}
