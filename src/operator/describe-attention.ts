import { type Attention, watchedKey } from "./attention.ts";

/** One thing that needs a person, as lists and messages show it: no payload, nothing secret. */
export interface AttentionSummary {
  readonly kind: Attention["kind"];
  /** Number of the receipt or obligation; `null` for what has none. */
  readonly id: number | null;
  readonly name: string;
  readonly state: string;
  readonly reason: string | null;
}

export function describeAttention(item: Attention): AttentionSummary {
  const { kind } = item;
  switch (kind) {
    case "obligation": {
      const { id, tenant, operationKey, state, reason } = item.obligation;
      return { kind, id, name: `${tenant} ${operationKey}`, state, reason };
    }
    case "receipt": {
      const { id, connection, eventId, outcome, reason } = item.receipt;
      const { mismatches } = item;
      const why = mismatches === 0 ? reason : `${mismatches} with other content${reason === null ? "" : `; ${reason}`}`;
      return { kind, id, name: `${connection} ${eventId}`, state: outcome, reason: why };
    }
    case "destination":
      return { kind, id: null, name: item.destination, state: "paused", reason: item.reason };
    case "connection":
      return { kind, id: null, name: item.connection, state: "paused", reason: item.reason };
    case "effect": {
      const reason = `due since ${new Date(item.dueAt).toISOString()}, and no worker takes it; start one whose configuration has it`;
      return { kind, id: null, name: item.effect, state: "untaken", reason };
    }
    case "resource": {
      const reason = `due since ${new Date(item.dueAt).toISOString()}, and nobody asks its source; register it in resources of defineApp, and start a worker`;
      return { kind, id: null, name: item.resource, state: "untaken", reason };
    }
    case "refresh": {
      const { connection, kind: resource, id, reason } = item.refresh;
      return { kind, id: null, name: `${connection} ${resource} ${id}`, state: "failed", reason };
    }
    case "silence": {
      const reason = `no new event since ${isoText(item.since)}; see whether the provider has disabled the endpoint, and have it send again what was missed`;
      return { kind, id: null, name: item.connection, state: "silent", reason };
    }
    case "refusals": {
      const reason = `${causesText(item.causes)} since ${isoText(item.since)}, and nothing was taken; compare its secret with the provider's`;
      return { kind, id: null, name: item.connection, state: "refusing", reason };
    }
    case "secret": {
      const { connection, secretId, until, isOver } = item;
      const reason = isOver
        ? `it has ended at ${isoText(until)}; take it out`
        : `it ends at ${isoText(until)}, and no other lasts longer; put the next beside it`;
      return { kind, id: null, name: `${connection} ${secretId}`, state: isOver ? "ended" : "ending", reason };
    }
    default:
      throw new Error(`Bug: no such attention ${String(item satisfies never)}`);
  }
}

function isoText(instant: number): string {
  return new Date(instant).toISOString();
}

/** Refused deliveries by cause, such as `refused signature_mismatch 12, timestamp_too_old 3`. */
export function causesText(causes: Readonly<Record<string, number>>): string {
  return `refused ${Object.entries(causes)
    .map(([cause, count]) => `${cause} ${count}`)
    .join(", ")}`;
}

/** Names an item for as long as it needs a person for the same cause; the same text after that is news. */
export function attentionKey(item: Attention): string {
  switch (item.kind) {
    case "obligation":
      return `obligation/${item.obligation.id}/${item.obligation.fence}`;
    case "receipt":
      return `receipt/${item.receipt.id}/${item.receipt.outcome}/${item.mismatches}`;
    case "destination":
      return `destination/${item.destination}`;
    case "connection":
      return `connection/${item.connection}`;
    case "effect":
      return `effect/${item.effect}`;
    case "resource":
      return `resource/${item.resource}`;
    case "refresh": {
      const { connection, account, kind, id, ticket } = item.refresh;
      return `refresh/${JSON.stringify([connection, account, kind, id, ticket])}`;
    }
    case "silence":
    case "refusals":
    case "secret":
      return watchedKey(item);
    default:
      throw new Error(`Bug: no such attention ${String(item satisfies never)}`);
  }
}
