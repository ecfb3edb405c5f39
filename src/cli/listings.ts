/** What `list` can list: how each kind is read, and which columns its text has. JSON has every field. */
import type { ObligationState } from "../domain/obligation.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Attention } from "../operator/attention.ts";
import { describeAttention } from "../operator/describe-attention.ts";
import type { Operator } from "../operator/operator.ts";
import { obligationRecord, receiptRecord, refreshRecord, refusalRecord, type ShownRecord } from "./records.ts";

/** Filters and page of a list, as the command line gives them. */
export interface ListOptions {
  readonly connection?: string;
  readonly event?: string;
  readonly outcome?: Outcome;
  readonly tenant?: string;
  readonly effect?: string;
  readonly key?: string;
  readonly state?: ObligationState;
  readonly limit: number;
  readonly before?: number;
  readonly after?: string;
}

export type ListFilter = Exclude<keyof ListOptions, "limit">;

export interface Listing {
  readonly filters: readonly ListFilter[];
  readonly columns: readonly string[];
  /** Where the list goes on behind a row: the option, and the row's field that it takes. */
  readonly next?: readonly [option: "before" | "after", field: string];
  readonly read: (operator: Operator, options: ListOptions) => Promise<readonly ShownRecord[]>;
}

export const listings: Readonly<Record<string, Listing>> = {
  attention: {
    filters: ["after"],
    columns: ["kind", "id", "name", "state", "reason"],
    next: ["after", "cursor"],
    read: async (operator, { limit, after }) => (await operator.attention({ limit, after })).map(attentionRecord),
  },
  receipts: receipts(),
  // The same by the word that people have for them.
  events: receipts(),
  queued: receipts("queued"),
  held: receipts("held"),
  parked: receipts("parked"),
  conflicts: receipts("conflict"),
  quarantined: receipts("quarantined"),
  suspects: receipts("suspect"),
  obligations: obligations(),
  stuck: obligations("stuck"),
  uncertain: obligations("uncertain"),
  refreshes: {
    filters: ["connection", "after"],
    columns: ["connection", "account", "kind", "id", "state", "tries", "dueAt", "reason"],
    next: ["after", "cursor"],
    read: async (operator, { connection, limit, after }) =>
      (await operator.refreshes({ connection }, { limit, after })).map(refreshRecord),
  },
  refusals: {
    filters: [],
    columns: ["at", "connection", "cause", "facts"],
    read: async (operator, { limit }) => (await operator.refusals({ limit })).map(refusalRecord),
  },
};

function receipts(only?: Outcome): Listing {
  return {
    filters: ["connection", "event", "before", ...(only ? [] : (["outcome"] as const))],
    columns: only
      ? ["id", "connection", "eventId", "type", "receivedAt", "tries", "dueAt", "reason"]
      : ["id", "connection", "eventId", "type", "outcome", "receivedAt", "deliveries", "reason"],
    next: ["before", "id"],
    read: async (operator, { connection, event, outcome = only, limit, before }) =>
      (await operator.receipts({ connection, outcome, eventId: event }, { limit, before })).map(receiptRecord),
  };
}

function obligations(only?: ObligationState): Listing {
  return {
    filters: ["tenant", "effect", "key", "before", ...(only ? [] : (["state"] as const))],
    columns: ["id", "tenant", "operationKey", "effect", "state", "reached", "tries", "dueAt", "fence", "reason"],
    next: ["before", "id"],
    read: async (operator, { tenant, effect, key, state = only, limit, before }) =>
      (await operator.obligations({ tenant, effect, keyPrefix: key, state }, { limit, before })).map(obligationRecord),
  };
}

function attentionRecord(item: Attention): ShownRecord {
  const { cursor } = item;
  const shown = { ...describeAttention(item) };
  if (item.kind === "obligation") {
    const { tenant, operationKey } = item.obligation;
    return { ...shown, tenant, operationKey, cursor };
  }
  if (item.kind !== "receipt") return { ...shown, cursor };
  const { connection, account, eventId } = item.receipt;
  return { ...shown, connection, account, eventId, mismatches: item.mismatches, cursor };
}
