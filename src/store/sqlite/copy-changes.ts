/**
 * What a copy puts into the file that it is made of: triggers that note which units change while the
 * store goes on, and, once it is moved, others that refuse every write. Triggers hold whoever has the file
 * open already, in whatever version.
 */
import type { DatabaseSync } from "node:sqlite";
import type { UnitKind } from "../copying.ts";
import { movedText } from "../marks.ts";

/** Our tables: the units that their rows belong to, and the columns of the unit's key. */
const noted: Readonly<Record<string, { readonly kind: UnitKind; readonly key: readonly string[] }>> = {
  counterfoil_receipts: { kind: "receipts", key: ["id"] },
  counterfoil_payloads: { kind: "receipts", key: ["receipt_id"] },
  counterfoil_redeliveries: { kind: "receipts", key: ["receipt_id"] },
  counterfoil_mismatches: { kind: "receipts", key: ["receipt_id"] },
  counterfoil_obligations: { kind: "obligations", key: ["id"] },
  counterfoil_requests: { kind: "obligations", key: ["obligation_id"] },
  counterfoil_attempts: { kind: "obligations", key: ["obligation_id"] },
  counterfoil_answers: { kind: "obligations", key: ["obligation_id"] },
  counterfoil_replays: { kind: "replays", key: ["connection", "account", "type", "digest"] },
  counterfoil_snapshots: { kind: "snapshots", key: ["connection", "account", "kind", "id"] },
  counterfoil_refreshes: { kind: "refreshes", key: ["connection", "account", "kind", "id"] },
  counterfoil_destinations: { kind: "destinations", key: ["destination"] },
  counterfoil_connections: { kind: "connections", key: ["connection"] },
  counterfoil_refusals: { kind: "refusals", key: ["id"] },
  counterfoil_audit: { kind: "audit", key: ["id"] },
};

/** Tables that tell of processes, or of the rows of others; they stay where they are. */
const left = ["counterfoil_workers", "counterfoil_totals", "counterfoil_notices"];

/** A change noted before a copy read its unit is noted once more when it comes again: its number is never given twice. */
const changes = `CREATE TABLE counterfoil_changes (
  number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, key TEXT NOT NULL, UNIQUE (kind, key)) STRICT`;

const events = [
  ["insert", "NEW"],
  ["update", "NEW"],
  ["delete", "OLD"],
] as const;

function noting(table: string, event: string): string {
  return `${table}_${event}_noted`;
}

/** Whether the file notes all that this version copies; another version may have begun it. */
export function notesAll(database: DatabaseSync): boolean {
  const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
  const triggers = new Set(rows.map(({ name }) => name));
  return Object.keys(noted).every((table) => events.every(([event]) => triggers.has(noting(table, event))));
}

/** Begins to note changes, in the caller's transaction. */
export function noteChanges(database: DatabaseSync): void {
  database.exec(changes);
  for (const [table, { kind, key }] of Object.entries(noted)) {
    for (const [event, row] of events) {
      const text = `json_array(${key.map((column) => `${row}.${column}`).join(", ")})`;
      database.exec(`CREATE TRIGGER ${noting(table, event)} AFTER ${event} ON ${table} BEGIN
        DELETE FROM counterfoil_changes WHERE kind = '${kind}' AND key = ${text};
        INSERT INTO counterfoil_changes (kind, key) VALUES ('${kind}', ${text});
      END`);
    }
  }
}

/** Ends what `noteChanges` began, in the caller's transaction. */
export function forgetChanges(database: DatabaseSync): void {
  for (const table of Object.keys(noted)) {
    for (const [event] of events) database.exec(`DROP TRIGGER IF EXISTS ${noting(table, event)}`);
  }
  database.exec("DROP TABLE IF EXISTS counterfoil_changes");
}

/** Refuses every write from this commit on, in the caller's transaction. */
export function refuseWrites(database: DatabaseSync, to: string): void {
  const message = movedText(to).replaceAll("'", "''");
  for (const table of [...Object.keys(noted), ...left]) {
    for (const [event] of events) {
      database.exec(`CREATE TRIGGER ${table}_${event}_refused BEFORE ${event} ON ${table} BEGIN
        SELECT RAISE(ABORT, '${message}');
      END`);
    }
  }
}
