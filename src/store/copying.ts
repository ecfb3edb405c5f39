/**
 * What a copy of a store consists of: rows in the form that a server's tables have, which one engine gives
 * and the other takes, and the units in which they are copied.
 *
 * A unit is an event or an obligation with all that hangs on it, or another thing with a key. It is copied
 * as a whole and is written over as a whole, so that a copy may be repeated from any point.
 */
import { createHash } from "node:crypto";
import { CounterfoilError } from "../domain/errors.ts";

/** Types of columns. `numeric` is a decimal integer of any size, as text. */
export type ColumnType = "int8" | "text" | "bool" | "bytea" | "numeric";

/** Every table whose rows are copied. */
export type TableName =
  | "receipts"
  | "payloads"
  | "redelivered"
  | "redeliveries"
  | "mismatches"
  | "obligations"
  | "progress"
  | "requests"
  | "attempts"
  | "answers"
  | "replays"
  | "snapshots"
  | "refreshes"
  | "destinations"
  | "connections"
  | "refusals"
  | "audit";

/** The kinds of units, each named by its first table. */
export type UnitKind =
  | "receipts"
  | "obligations"
  | "replays"
  | "snapshots"
  | "refreshes"
  | "destinations"
  | "connections"
  | "refusals"
  | "audit";

export interface CopiedTable {
  /** Columns that hold the key of the unit that a row belongs to. */
  readonly owner: readonly string[];
  /** Columns of the primary key, in its order: that in which rows are read. */
  readonly order: readonly string[];
  readonly columns: Readonly<Record<string, ColumnType>>;
}

const receipt = ["receipt_id"] as const;
const obligation = ["obligation_id"] as const;

const step = {
  state: "text",
  reached: "text",
  fence: "int8",
  generation: "int8",
  tries: "int8",
  lookups: "int8",
  crashes: "int8",
  updated_at: "int8",
  last_call_wall: "int8",
  last_call_monotonic: "int8",
  last_call_boot: "text",
  key_since_wall: "int8",
  key_since_monotonic: "int8",
  key_since_boot: "text",
  reason: "text",
} as const;

const names = { connection: "text", account: "text" } as const;

/** Every table whose rows are copied. Those of workers and of proofs that a commit is kept are not: they tell of processes. */
export const copiedTables: Readonly<Record<TableName, CopiedTable>> = {
  receipts: {
    owner: ["id"],
    order: ["id"],
    columns: {
      id: "int8",
      ...names,
      event_id: "text",
      tenant: "text",
      type: "text",
      digest: "text",
      secret_id: "text",
      outcome: "text",
      reason: "text",
      received_at: "int8",
      decided_at: "int8",
      tries: "int8",
      starts: "int8",
      version: "int8",
      due_at: "int8",
      deadline_at: "int8",
      rank: "text",
      waits_kind: "text",
      waits_id: "text",
      order_key: "text",
    },
  },
  payloads: {
    owner: receipt,
    order: receipt,
    columns: { receipt_id: "int8", bytes: "bytea", headers: "text", expire_at: "int8" },
  },
  redelivered: { owner: receipt, order: receipt, columns: { receipt_id: "int8", times: "int8" } },
  redeliveries: {
    owner: receipt,
    order: ["receipt_id", "number"],
    columns: { receipt_id: "int8", number: "int8", at: "int8", digest: "text" },
  },
  mismatches: {
    owner: receipt,
    order: ["receipt_id", "digest"],
    columns: { receipt_id: "int8", digest: "text", at: "int8", open: "bool", bytes: "bytea", headers: "text" },
  },
  /** The columns of `step` are NULL until it is done. */
  obligations: {
    owner: ["id"],
    order: ["id"],
    columns: {
      id: "int8",
      tenant: "text",
      operation_key: "text",
      effect: "text",
      destination: "text",
      ...names,
      receipt_id: "int8",
      input_digest: "text",
      created_at: "int8",
      order_key: "text",
      not_before: "int8",
      ...step,
    },
  },
  /**
   * What is not done. A lease is copied as one that has ended: how long its holder may go on is told when
   * the copy is opened.
   */
  progress: {
    owner: obligation,
    order: obligation,
    columns: {
      obligation_id: "int8",
      effect: "text",
      destination: "text",
      order_key: "text",
      not_before: "int8",
      cancel_requested: "bool",
      ...step,
      due_at: "int8",
      lease_worker: "text",
      lease_kind: "text",
      lease_from: "int8",
      lease_until: "int8",
    },
  },
  requests: {
    owner: obligation,
    order: obligation,
    columns: {
      obligation_id: "int8",
      method: "text",
      url: "text",
      content_type: "text",
      body: "bytea",
      digest: "text",
      input: "text",
    },
  },
  /** Without the try of a lease whose end nobody has written: that one stands in `progress`. */
  attempts: {
    owner: obligation,
    order: ["obligation_id", "fence"],
    columns: {
      obligation_id: "int8",
      fence: "int8",
      kind: "text",
      generation: "int8",
      worker: "text",
      started_at: "int8",
      ended_at: "int8",
      verdict: "text",
      phase: "text",
      status: "int8",
      cause: "text",
    },
  },
  answers: {
    owner: obligation,
    order: ["obligation_id", "fence"],
    columns: { obligation_id: "int8", fence: "int8", status: "int8", body: "bytea", truncated: "bool" },
  },
  replays: {
    owner: ["connection", "account", "type", "digest"],
    order: ["connection", "account", "type", "digest"],
    columns: { ...names, type: "text", digest: "text", receipt_id: "int8", lapses_at: "int8" },
  },
  snapshots: {
    owner: ["connection", "account", "kind", "id"],
    order: ["connection", "account", "kind", "id"],
    columns: {
      ...names,
      kind: "text",
      id: "text",
      revision: "numeric",
      digest: "text",
      state: "text",
      updated_at: "int8",
    },
  },
  refreshes: {
    owner: ["connection", "account", "kind", "id"],
    order: ["connection", "account", "kind", "id"],
    columns: {
      ...names,
      kind: "text",
      id: "text",
      tenant: "text",
      ticket: "int8",
      again: "bool",
      tries: "int8",
      due_at: "int8",
      lease_until: "int8",
      reason: "text",
      updated_at: "int8",
    },
  },
  destinations: {
    owner: ["destination"],
    order: ["destination"],
    columns: { destination: "text", paused_reason: "text", updated_at: "int8" },
  },
  connections: {
    owner: ["connection"],
    order: ["connection"],
    columns: { connection: "text", paused_reason: "text", updated_at: "int8" },
  },
  refusals: {
    owner: ["id"],
    order: ["id"],
    columns: { id: "int8", at: "int8", connection: "text", cause: "text", facts: "text" },
  },
  audit: {
    owner: ["id"],
    order: ["id"],
    columns: {
      id: "int8",
      at: "int8",
      who: "text",
      action: "text",
      target: "text",
      why: "text",
      before: "text",
      after: "text",
    },
  },
};

export const tableNames: readonly TableName[] = Object.keys(copiedTables) as TableName[];

/** The kinds of units, each by its first table, in the order in which they are copied. */
export const unitTables: Readonly<Record<UnitKind, readonly TableName[]>> = {
  receipts: ["receipts", "payloads", "redelivered", "redeliveries", "mismatches"],
  obligations: ["obligations", "progress", "requests", "attempts", "answers"],
  replays: ["replays"],
  snapshots: ["snapshots"],
  refreshes: ["refreshes"],
  destinations: ["destinations"],
  connections: ["connections"],
  refusals: ["refusals"],
  audit: ["audit"],
};

export const unitKinds: readonly UnitKind[] = Object.keys(unitTables) as UnitKind[];

/** The values of a unit's key columns. */
export type UnitKey = readonly (number | string)[];

export type CopiedValue = number | string | boolean | Uint8Array | null;

/** A row's values in the order of its table's columns. */
export type CopiedRow = readonly CopiedValue[];

/** Rows by table, each in the order of its primary key. */
export type CopiedRows = Readonly<Partial<Record<TableName, readonly CopiedRow[]>>>;

/** How many rows there are, by table. */
export type RowCounts = Readonly<Record<TableName, number>>;

/** Some units of one kind, with every row that belongs to them; one without rows is not there any more. */
export interface CopiedBatch {
  readonly kind: UnitKind;
  readonly keys: readonly UnitKey[];
  readonly rows: CopiedRows;
}

/** Text as every engine keeps it: not all have NUL. */
export function copiedText(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
}

/** One text for a unit's key. */
export function keyText(key: UnitKey): string {
  return JSON.stringify(key);
}

/** A digest of all rows, as they are. */
export function rowsDigest(rows: CopiedRows): string {
  const hash = createHash("sha256");
  for (const name of tableNames) {
    for (const row of rows[name] ?? []) hash.update(`${name}${rowText(row)}\n`);
  }
  return hash.digest("hex");
}

/** The keys of units whose rows are not the same in both. */
export function differingKeys(kind: UnitKind, left: CopiedRows, right: CopiedRows): readonly UnitKey[] {
  const [lefts, rights] = [unitTexts(kind, left), unitTexts(kind, right)];
  return [...new Set([...lefts.keys(), ...rights.keys()])]
    .filter((key) => lefts.get(key) !== rights.get(key))
    .map((key) => JSON.parse(key) as UnitKey);
}

function unitTexts(kind: UnitKind, rows: CopiedRows): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const name of unitTables[kind]) {
    const { owner, columns }: CopiedTable = copiedTables[name];
    const places = owner.map((column) => Object.keys(columns).indexOf(column));
    for (const row of rows[name] ?? []) {
      const key = keyText(places.map((place) => row[place] as number | string));
      texts.set(key, `${texts.get(key) ?? ""}${name}${rowText(row)}\n`);
    }
  }
  return texts;
}

function rowText(row: CopiedRow): string {
  return JSON.stringify(row.map((value) => (value instanceof Uint8Array ? { bytes: bytesText(value) } : value)));
}

function bytesText(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64");
}

/** The error of a unit that is not the same in both; its key is named, its content never. */
export function copyDiffers(kind: UnitKind, key: UnitKey): CounterfoilError {
  return new CounterfoilError(
    "COPY_DIFFERS",
    `Cannot end the copy: of ${kind}, ${keyText(key)} is not the same there; nothing was moved; look for who else writes there`,
  );
}

/** The error of tables that have not as many rows in both. */
export function countDiffers(name: TableName, here: number, there: number): CounterfoilError {
  return new CounterfoilError(
    "COPY_DIFFERS",
    `Cannot end the copy: ${name} has ${here} rows, and ${there} there; nothing was moved; look for who else writes there`,
  );
}
