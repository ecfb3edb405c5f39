/**
 * What the HTTP thread and the engine's thread tell each other: plain data, gathered per turn of the
 * event loop, so that a busy moment costs few messages.
 */
import type { ErrorCode } from "../domain/errors.ts";
import type { TelemetryEvent } from "../domain/telemetry.ts";
import type { HealthChecks, Served } from "../http/serve.ts";
import type { ReadDelivery, Received } from "../inbox/arrival.ts";
import type { Refused } from "../verify/verdict.ts";

/** What the HTTP thread is started with. */
export interface FrontData {
  /** URL of the module whose default export is the application. */
  readonly configuration: string;
  readonly port: number;
  readonly host: string;
  readonly serves: Served;
}

/** An event that was verified and read; its body stands among those of its turn. */
export interface HandedDelivery {
  /** Names the delivery in its answer. */
  readonly id: number;
  readonly connection: string;
  readonly read: ReadDelivery;
  readonly bodyBytes: number;
  /** What its bytes say stands behind them, where that is something else: it was encoded. */
  readonly contentBytes: number | null;
}

/** A delivery that could not be verified. */
export interface RefusedDelivery {
  readonly connection: string;
  readonly at: number;
  readonly refused: Refused;
}

/** What one turn of the HTTP thread brought. */
export interface Turn {
  readonly kind: "turn";
  readonly deliveries: readonly HandedDelivery[];
  /** The bodies of the deliveries, one after the other. */
  readonly bodies: Uint8Array<ArrayBuffer>;
  /** None while the engine has not heard the last. */
  readonly news: News | null;
}

/** What is to be told beside deliveries. */
export interface News {
  readonly refusals: readonly RefusedDelivery[];
  readonly events: readonly RepeatedEvent[];
}

/** An event, as often as it came. */
export interface RepeatedEvent {
  readonly event: TelemetryEvent;
  readonly times: number;
}

/** An error of another thread: its class does not travel, its code does. */
export interface ToldError {
  readonly code: ErrorCode | "INTERNAL";
  readonly message: string;
}

export type ToEngine =
  | Turn
  | { readonly kind: "listening"; readonly url: string; readonly port: number }
  | { readonly kind: "failed"; readonly error: ToldError & { readonly system: SystemError | null } }
  | { readonly kind: "ask"; readonly health: keyof HealthChecks }
  | { readonly kind: "closed" };

/** What names a refusal of the operating system, such as a port that is taken. */
export interface SystemError {
  readonly code: string;
  readonly syscall: string;
}

/** What became of a delivery. */
export type Told =
  | { readonly id: number; readonly received: Received }
  | { readonly id: number; readonly error: ToldError };

export type ToFront =
  | { readonly kind: "answers"; readonly answers: readonly Told[] }
  | { readonly kind: "heard" }
  | { readonly kind: "health"; readonly health: keyof HealthChecks; readonly healthy: boolean }
  | { readonly kind: "leave" }
  | { readonly kind: "close"; readonly graceMs: number };
