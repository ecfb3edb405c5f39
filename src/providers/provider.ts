import type { Event, Handle, Handler } from "../domain/handler.ts";
import type { Schema } from "../domain/schema.ts";
import type { BodyPlan } from "../parse/body-plan.ts";
import type { ProviderRules } from "./provider-spec.ts";

/** The payload of each event type: what `event.data` is. */
export type EventMap = Readonly<Record<string, unknown>>;

/** The map that a union of events, such as an SDK's own, stands for. */
export type EventsOf<E extends { readonly type: string; readonly data: unknown }> = {
  [Each in E as Each["type"]]: Each["data"];
};

/** What receiving needs of a provider, whatever the types of its events. */
export interface ProviderData<Name extends string = string> {
  readonly name: Name;
  readonly rules: ProviderRules<Name>;
  /** How its bodies are read; made ready once. */
  readonly plan: BodyPlan;
}

/** A provider preset, with the types of its events. */
export interface Provider<Name extends string = string, Events = EventMap> extends ProviderData<Name> {
  /** Handles one type of event, with the types of this provider's map. */
  on<Type extends keyof Events & string>(type: Type, handle: Handle<Event<Type, Events[Type]>>): Handler<Name>;
  /** Handles one type of event after a check of `event.data`; what does not fit is quarantined. */
  on<Type extends keyof Events & string, Data>(
    type: Type,
    schema: Schema<Data>,
    handle: Handle<Event<Type, Data>>,
  ): Handler<Name>;

  /**
   * The same provider with the event types of another source, such as the provider's SDK.
   *
   * @example
   * ```ts no-run
   * import type { Stripe } from "stripe";
   * const typed = stripe.typed<Stripe.Event>();
   * ```
   */
  typed<E extends { readonly type: string; readonly data: unknown }>(): Provider<Name, EventsOf<E>>;
}
