import type { AttemptKind, AttemptVerdict, ObligationState } from "./obligation.ts";
import type { Outcome } from "./outcome.ts";

/**
 * Everything that Counterfoil says of itself, for subscribers: logs, metrics, traces. Ids, outcomes,
 * causes and durations; never payload, headers or secrets.
 */
export type TelemetryEvent =
  | {
      readonly kind: "delivery.answered";
      readonly connection: string;
      readonly account: string;
      readonly eventId: string;
      readonly type: string;
      readonly outcome: Outcome;
      readonly duplicate: boolean;
      readonly mismatch: boolean;
      readonly ms: number;
    }
  | {
      readonly kind: "delivery.refused";
      readonly connection: string;
      readonly code: string;
      readonly cause: string | null;
    }
  | {
      readonly kind: "delivery.failed";
      readonly connection: string;
      readonly eventId: string;
      readonly code: string;
      readonly summary: string;
    }
  | {
      readonly kind: "event.decided";
      readonly connection: string;
      readonly account: string;
      readonly eventId: string;
      readonly outcome: Outcome;
      readonly by: "delivery" | "retry" | "operator";
    }
  | {
      readonly kind: "handler.failed";
      readonly connection: string;
      readonly eventId: string;
      readonly code: string;
      readonly summary: string;
    }
  | { readonly kind: "group.committed"; readonly members: number; readonly ms: number }
  | { readonly kind: "group.split"; readonly members: number; readonly code: string }
  | {
      readonly kind: "attempt.started";
      readonly obligationId: number;
      readonly effect: string;
      readonly attempt: AttemptKind;
      readonly fence: number;
    }
  | {
      readonly kind: "attempt.ended";
      readonly obligationId: number;
      readonly effect: string;
      readonly attempt: AttemptKind;
      readonly fence: number;
      readonly verdict: AttemptVerdict;
      readonly state: ObligationState;
      readonly status: number | null;
      readonly cause: string | null;
    }
  | { readonly kind: "fence.refused"; readonly obligationId: number; readonly effect: string; readonly fence: number }
  | { readonly kind: "evidence.used"; readonly obligationId: number; readonly effect: string; readonly fence: number }
  | { readonly kind: "lease.expired"; readonly obligationId: number; readonly effect: string; readonly fence: number }
  | { readonly kind: "lease.lost"; readonly obligationId: number; readonly effect: string; readonly fence: number }
  | { readonly kind: "key.expired"; readonly obligationId: number; readonly effect: string }
  | { readonly kind: "park.released"; readonly connection: string; readonly eventId: string }
  | {
      readonly kind: "refresh.ended";
      readonly connection: string;
      readonly account: string;
      readonly resource: string;
      readonly ticket: number;
      readonly outcome: "applied" | "gone" | "failed" | "superseded" | "released";
      readonly reason: string | null;
    }
  | { readonly kind: "destination.paused"; readonly destination: string; readonly reason: string }
  | { readonly kind: "breaker.opened"; readonly destination: string; readonly forMs: number }
  | { readonly kind: "breaker.closed"; readonly destination: string }
  | { readonly kind: "effect.unclaimed"; readonly effect: string; readonly count: number }
  | { readonly kind: "operator.acted"; readonly action: string; readonly target: string; readonly who: string }
  | { readonly kind: "loop.failed"; readonly loop: string; readonly code: string; readonly summary: string }
  | { readonly kind: "loop.recovered"; readonly loop: string };

/** Hears every event, synchronously; it must not throw and must not wait. */
export type Emit = (event: TelemetryEvent) => void;
