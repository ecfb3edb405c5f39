/**
 * Counterfoil receives webhooks and carries out what they oblige you to do: each event once, each
 * effect once, on the database that already holds your data.
 *
 * @module
 */
export type { App, ListenOptions, Role } from "./app/app.ts";
export { connectEach, type ConnectionSourceConfig, type FindConnection, type RouteParams } from "./app/connect-each.ts";
export { connect, type ConnectionConfig, type ConnectOptions } from "./app/connect.ts";
export { type AppOptions, defineApp } from "./app/define-app.ts";
export type { DeliveryInput, TransactionScope } from "./app/own-work.ts";
export type { AttentionUrl, OnAttention } from "./app/on-attention.ts";
export type { EndingSecret, GivenSecret } from "./app/ending-secrets.ts";
export type { OwnTransaction, Within } from "./app/within.ts";
export type { TrialOptions } from "./app/trial-delivery.ts";
export type { AnswerMark } from "./domain/answer-mark.ts";
export type { Duration } from "./domain/duration.ts";
export {
  type Abandoned,
  type AbandonedContext,
  type AnsweredDetails,
  type CommonEffectOptions,
  effect,
  type Effect,
  type EffectOptions,
  type Idempotency,
  type Lookup,
  type Operation,
  type Owe,
  type Owed,
  type RequestSpec,
  type Result,
  type SendContext,
  sendEffect,
  type SendEffectOptions,
  type SendIdempotency,
  type Sending,
  type SendLookup,
  type SettledContext,
  type StatusVerdict,
} from "./domain/effect.ts";
export { CounterfoilError, type ErrorCode, errorCodes } from "./domain/errors.ts";
export type { Arrived } from "./domain/arrived.ts";
export type { Finding } from "./domain/finding.ts";
export type { Event, Handle, Handler, HandlerContext, Snapshot, Verdict, WorkContext } from "./domain/handler.ts";
export type { Json, JsonPath } from "./domain/json.ts";
export { defaults, type Limits } from "./domain/limits.ts";
export type { Obligation } from "./domain/obligation.ts";
export type { Outcome } from "./domain/outcome.ts";
export type { Payload, Receipt } from "./domain/receipt.ts";
export {
  type AnyResource,
  type FetchedState,
  type FetchOptions,
  type FetchTarget,
  type Refresh,
  resource,
  type Resource,
  type ResourceOptions,
  type SnapshotInput,
  type SnapshotResult,
} from "./domain/resource.ts";
export { type Schema, type } from "./domain/schema.ts";
export type { SqlResult, SqlValue, Tx } from "./domain/sql.ts";
export type { Emit, TelemetryEvent } from "./domain/telemetry.ts";
export type { UserResult, UserStatement, UserTransaction } from "./domain/user-transaction.ts";
export type { FastifyPlugin, FastifyScope } from "./http/mount-fastify.ts";
export type { Withdraw, Withdrawal } from "./domain/withdraw.ts";
export type { FetchHandler } from "./http/mount-fetch.ts";
export type { LambdaAnswer, LambdaEvent, LambdaHandler } from "./http/mount-lambda.ts";
export type { NodeHandler } from "./http/mount-node.ts";
export type { Listening, Served } from "./http/serve.ts";
export type { Received, ReceivedItem } from "./inbox/arrival.ts";
export type { ObligationAction } from "./operator/act-on-obligation.ts";
export type { ReceiptAction } from "./operator/act-on-receipt.ts";
export type { Acted } from "./operator/acting.ts";
export type { BulkAction, BulkResult, ManyObligations, ManyReceipts, ManyRefreshes } from "./operator/bulk.ts";
export type { Done } from "./operator/done.ts";
export type { KeyStanding } from "./operator/key-standing.ts";
export type { NextStep } from "./operator/next-step.ts";
export type { Attention } from "./operator/attention.ts";
export type { Operator } from "./operator/operator.ts";
export type { ObligationReport, ReceiptReport, Status } from "./operator/operator-reads.ts";
export type { Amendment } from "./operator/amend.ts";
export type { PauseAction } from "./operator/pause.ts";
export type { PruneAction, PruneCounts } from "./operator/prune.ts";
export type { RefreshAction } from "./operator/refresh.ts";
export type { Resolution } from "./operator/resolve.ts";
export type { Restored, RestoredAction } from "./operator/restored.ts";
export type { ResumeAction } from "./operator/resume.ts";
export type {
  AttentionPage,
  Counts,
  DeadRows,
  DueWork,
  LogSize,
  ObligationFilter,
  Page,
  ReceiptFilter,
  SeenWorker,
  SnapshotHolder,
} from "./store/reader.ts";
export type { RefusalFacts } from "./store/records.ts";
export type { Refresh as OwedRefresh, ResourceKey } from "./store/refresh-writes.ts";
export type { Store } from "./store/store.ts";
export { jsonLogger } from "./telemetry/logger.ts";
export { Metrics } from "./telemetry/metrics.ts";
export { type TransitionOptions, transitions, type Transitions } from "./work/transitions.ts";
