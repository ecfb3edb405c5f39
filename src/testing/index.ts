/**
 * The kit that Counterfoil's own tests stand on, for yours: a provider that keeps or breaks its
 * idempotency contract, a clock that a test moves, crash points, and a proxy that loses answers.
 */
export type { Probe } from "../domain/probe.ts";
export {
  countPoints,
  killAt,
  killAtEveryPoint,
  probeFrom,
  type KillAtEveryPointOptions,
  type PointCounter,
  type RunEnd,
} from "./crash-points.ts";
export type { AdapterOddities, AdapterSubject } from "./adapter-subject.ts";
export { exerciseAdapter } from "./exercise-adapter.ts";
export { FakeProvider, startFakeProvider, type FakeProviderOptions } from "./fake-provider.ts";
export {
  FaultProxy,
  startFaultProxy,
  type FaultProxyOptions,
  type ProxyDirection,
  type ProxyMode,
} from "./fault-proxy.ts";
export type { Fault, FaultKind } from "./provider-fault.ts";
export type { ProviderCounts, ProviderEffect, RequestCount } from "./provider-ledger.ts";
export type { ProviderRequest } from "./provider-request.ts";
export { VirtualClock, type VirtualClockOptions } from "./virtual-clock.ts";
