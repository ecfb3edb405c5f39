/**
 * Checked by the compiler, never run: the types of handlers follow the provider's event map, and what
 * must not compile does not.
 */
import type { Stripe } from "stripe";
import * as v from "valibot";
import type { Handler } from "../../src/domain/handler.ts";
import { type } from "../../src/domain/schema.ts";
import {
  defineProvider,
  generic,
  github,
  paypal,
  shopify,
  square,
  standardWebhooks,
  stripe,
  type Provider,
  type ProviderData,
} from "../../src/providers/index.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function yes<T extends true>(): T;
/** As a connection takes it: the provider decides whose handlers fit. */
declare function connect<Name extends string>(options: {
  readonly provider: ProviderData<Name>;
  readonly handlers: readonly Handler<NoInfer<Name>>[];
}): void;

const paid = stripe.on("payment_intent.succeeded", ({ event }) => {
  yes<Same<typeof event.data.object.amount, number>>();
  yes<Same<typeof event.type, "payment_intent.succeeded">>();
  yes<Same<typeof event.data.object.metadata.order, string | undefined>>();
});
yes<Same<typeof paid, Handler<"stripe">>>();
// @ts-expect-error a mistyped event type
stripe.on("payment_intent.succeded", () => {});
stripe.on("payment_intent.succeeded", ({ event }) => {
  // @ts-expect-error a field that the event has not
  void event.data.object.amuont;
});

const object = v.object({ object: v.object({ id: v.string() }) });
stripe.on("charge.refunded", object, ({ event }) => {
  yes<Same<typeof event.data, { object: { id: string } }>>();
});
stripe.on("charge.refunded", type<{ id: number }>(), ({ event }) => {
  yes<Same<typeof event.data, { id: number }>>();
});
// @ts-expect-error a mistyped event type beside a schema
stripe.on("charge.refundd", object, () => {});

const pushed = github.on("push", ({ event }) => {
  yes<Same<typeof event.data.ref, string>>();
});
connect({ provider: stripe, handlers: [paid] });
// @ts-expect-error another provider's handler beside ours
connect({ provider: stripe, handlers: [paid, pushed] });
// @ts-expect-error another provider's handler
connect({ provider: github, handlers: [paid] });

const typed = stripe.typed<Stripe.Event>();
yes<Same<typeof typed.name, "stripe">>();
const refunded = typed.on("charge.refunded", ({ event }) => {
  yes<Same<typeof event.data.object.amount_refunded, number>>();
});
typed.on("invoice.finalized", ({ event }) => {
  yes<Same<typeof event.data.object, Stripe.Invoice>>();
});
// @ts-expect-error a mistyped event type of the SDK's union
typed.on("charge.refundd", () => {});
connect({ provider: stripe, handlers: [refunded, paid] });
connect({ provider: typed, handlers: [refunded, paid] });

shopify.on("refunds/create", ({ event }) => {
  yes<Same<typeof event.data.order_id, number>>();
  // @ts-expect-error a field that the webhook has not
  void event.data.order;
});
paypal.on("PAYMENT.CAPTURE.COMPLETED", ({ event }) => {
  yes<Same<typeof event.data.amount.value, string>>();
});
square.on("payment.updated", ({ event }) => {
  yes<Same<typeof event.data.object.payment.version, number | undefined>>();
});
// An open map: what it does not know is for a schema, or for the user's own types.
shopify.on("themes/publish", ({ event }) => {
  yes<Same<typeof event.data, unknown>>();
});
const themes = shopify.typed<{ readonly type: "themes/publish"; readonly data: { readonly id: number } }>();
connect({ provider: shopify, handlers: [themes.on("themes/publish", ({ event }) => void event.data.id.toFixed())] });
// @ts-expect-error a topic that the user's own types have not
themes.on("themes/publsh", () => {});

standardWebhooks.on("contact.created", ({ event }) => {
  yes<Same<typeof event.data, unknown>>();
});
const acme = generic({
  name: "acme",
  signature: { kind: "token", header: "x-token" },
  identity: { id: { from: "body", path: ["id"] }, type: { from: "fixed", text: "event" } },
});
yes<Same<typeof acme, Provider<"acme">>>();
connect({ provider: acme, handlers: [acme.on("event", () => {})] });
// @ts-expect-error another provider's handler
connect({ provider: acme, handlers: [paid] });

const own: Provider<"own", { readonly made: { readonly id: string } }> = defineProvider({
  name: "own",
  schemes: [{ kind: "token", header: "x-token" }],
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
  ackMs: 5_000,
  retries: true,
  redeliveryMs: 0,
});
own.on("made", ({ event }) => {
  yes<Same<typeof event.data.id, string>>();
});
