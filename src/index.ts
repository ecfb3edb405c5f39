/**
 * Counterfoil receives webhooks and carries out what they oblige you to do: each event once, each
 * effect once, on the database that already holds your data.
 *
 * @module
 */
export { type App, type DeliveryInput, type Role, type TransactionScope } from "./app/app.ts";
export { connect, type ConnectionConfig, type ConnectOptions } from "./app/connect.ts";
export { type AppOptions, defineApp } from "./app/define-app.ts";
export type { Duration } from "./domain/duration.ts";
export {
  effect,
  type Effect,
  type EffectOptions,
  type Idempotency,
  type Lookup,
  type Operation,
  type Owe,
  type RequestSpec,
  type Result,
  type SettledContext,
} from "./domain/effect.ts";
export { CounterfoilError, type ErrorCode, errorCodes } from "./domain/errors.ts";
export type { Arrived } from "./domain/arrived.ts";
export type { Event, Handle, Handler, HandlerContext, Snapshot, Verdict, WorkContext } from "./domain/handler.ts";
export type { Json } from "./domain/json.ts";
export { defaults, type Limits } from "./domain/limits.ts";
export type { Outcome } from "./domain/outcome.ts";
export { resource, type Resource, type SnapshotInput, type SnapshotResult } from "./domain/resource.ts";
export { type Schema, type } from "./domain/schema.ts";
export type { SqlResult, SqlValue, Tx } from "./domain/sql.ts";
export type { Emit, TelemetryEvent } from "./domain/telemetry.ts";
export type { Received } from "./inbox/arrival.ts";
export type { Store } from "./store/store.ts";
export { jsonLogger } from "./telemetry/logger.ts";
export { Metrics } from "./telemetry/metrics.ts";
export { type TransitionOptions, transitions, type Transitions } from "./work/transitions.ts";
