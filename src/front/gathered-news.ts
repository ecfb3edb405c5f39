import type { TelemetryEvent } from "../domain/telemetry.ts";
import type { News, RefusedDelivery, RepeatedEvent } from "./messages.ts";

/** Refusals whose facts wait to be heard; of more only their number is told. */
const refusalsMax = 100;

/**
 * What the HTTP thread has to tell beside deliveries. Anyone can cause it, and it may wait for as long as
 * the engine's thread is busy: equal events are counted instead of listed, so that it stays small.
 */
export class GatheredNews {
  #refusals: RefusedDelivery[] = [];
  #events: Map<string, RepeatedEvent> = new Map();

  get isEmpty(): boolean {
    return this.#refusals.length === 0 && this.#events.size === 0;
  }

  refuse(refusal: RefusedDelivery): void {
    if (this.#refusals.length < refusalsMax) return void this.#refusals.push(refusal);
    const { connection, refused } = refusal;
    this.emit({ kind: "delivery.refused", connection, code: "SIGNATURE_REFUSED", cause: refused.cause });
  }

  emit(event: TelemetryEvent): void {
    const key = JSON.stringify(event);
    this.#events.set(key, { event, times: (this.#events.get(key)?.times ?? 0) + 1 });
  }

  /** Gives all of it away. */
  take(): News {
    const news = { refusals: this.#refusals, events: [...this.#events.values()] };
    this.#refusals = [];
    this.#events = new Map();
    return news;
  }
}
