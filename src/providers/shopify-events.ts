/**
 * The fields of Shopify's webhooks that handlers most often read, as the REST shapes have them that webhooks
 * carry. Amounts are decimal text in the currency's major unit.
 *
 * Source: https://shopify.dev/docs/api/webhooks
 *
 * @module
 */
import type { EventMap } from "./provider.ts";

/** One thing that was ordered. */
export interface ShopifyLineItem {
  readonly id: number;
  readonly product_id: number | null;
  readonly variant_id: number | null;
  readonly sku: string | null;
  readonly title: string;
  readonly quantity: number;
  readonly price: string;
}

/** What a customer ordered, in its state when the webhook was made. */
export interface ShopifyOrder {
  readonly id: number;
  readonly admin_graphql_api_id: string;
  /** Such as `#1001`. */
  readonly name: string;
  readonly email: string | null;
  readonly currency: string;
  readonly total_price: string;
  readonly financial_status: string | null;
  readonly fulfillment_status: string | null;
  readonly cancelled_at: string | null;
  readonly cancel_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  /** A test order costs nobody anything; the signature says nothing of it. */
  readonly test: boolean;
  readonly line_items: readonly ShopifyLineItem[];
}

/** Money or goods that go back. */
export interface ShopifyRefund {
  readonly id: number;
  readonly order_id: number;
  readonly created_at: string;
  readonly note: string | null;
  readonly refund_line_items: readonly {
    readonly id: number;
    readonly line_item_id: number;
    readonly quantity: number;
    readonly restock_type: string;
  }[];
  readonly transactions: readonly {
    readonly id: number;
    readonly kind: string;
    readonly status: string;
    readonly amount: string;
    readonly currency: string;
  }[];
}

/** Goods on their way. */
export interface ShopifyFulfillment {
  readonly id: number;
  readonly order_id: number;
  readonly status: string;
  readonly shipment_status: string | null;
  readonly tracking_company: string | null;
  readonly tracking_number: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A shop that has taken the app out. */
export interface ShopifyShop {
  readonly id: number;
  readonly name: string;
  readonly myshopify_domain: string;
}

/** A shop that asks for, or wants deleted, what is kept of a customer, or of itself. */
export interface ShopifyPrivacyRequest {
  readonly shop_id: number;
  readonly shop_domain: string;
  readonly customer?: { readonly id: number; readonly email?: string };
}

/** `event.data` by topic. Other topics are `unknown`: give them a schema. */
export interface ShopifyEvents extends EventMap {
  readonly "orders/create": ShopifyOrder;
  readonly "orders/updated": ShopifyOrder;
  readonly "orders/paid": ShopifyOrder;
  readonly "orders/cancelled": ShopifyOrder;
  readonly "orders/fulfilled": ShopifyOrder;
  readonly "refunds/create": ShopifyRefund;
  readonly "fulfillments/create": ShopifyFulfillment;
  readonly "fulfillments/update": ShopifyFulfillment;
  readonly "app/uninstalled": ShopifyShop;
  readonly "customers/data_request": ShopifyPrivacyRequest;
  readonly "customers/redact": ShopifyPrivacyRequest;
  readonly "shop/redact": ShopifyPrivacyRequest;
}
