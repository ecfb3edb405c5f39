/**
 * A schema that a store is copied into: closed to everybody from `begin` to `open`. Each batch is one
 * transaction, together with how far the copy has got, so that a copy that was ended at any point goes on
 * from there.
 */

import { CounterfoilError } from "../../domain/errors.ts";
import type { Stamp } from "../../domain/instant.ts";
import type { Probe } from "../../domain/probe.ts";
import {
  type CopiedBatch,
  type CopiedRow,
  type CopiedRows,
  type RowCounts,
  tableNames,
  type UnitKey,
  type UnitKind,
  unitTables,
} from "../copying.ts";
import type { Mark } from "../marks.ts";
import type { AuditEntry } from "../records.ts";
import { checkServer } from "./check-server.ts";
import { closeSchema, numberedTables, openSchema, readMark, usedTable } from "./copy-fence.ts";
import { type CopyHandle, CopyLine } from "./copy-line.ts";
import { type CopyStatement, insertRows, removeRows, selectRange, selectUnits } from "./copy-rows.ts";
import type { DriverSettings } from "./driver.ts";
import { knownMigrations, migrateSchema } from "./migrations.ts";
import { assertSchemaName } from "./schema-name.ts";
import { plain } from "./values.ts";

export interface CopyTargetOptions {
  readonly settings: DriverSettings;
  readonly schema: string;
  readonly probe?: Probe | undefined;
}

/** How far the units of a kind were walked: behind this key there may be more, unless it is done. */
export interface Walked {
  readonly after: UnitKey | null;
  readonly done: boolean;
}

/** How far a copy has got. */
export type Progress = Readonly<Partial<Record<UnitKind, Walked>>>;

/** What stands in the schema. */
export interface Standing {
  /** The database that the server says it is. */
  readonly database: string;
  /** `undefined` where the schema is not there. */
  readonly mark: Mark | undefined;
  /** A table that holds rows, of any copy or of none. */
  readonly used: string | undefined;
}

/** What is told when a copy is opened. */
export interface Opening {
  /** A reading of the source's clocks from before the server's, and a way to take one after it. */
  readonly before: Stamp;
  readonly after: () => Stamp;
  /** How long the holders of leases may still go on. */
  readonly leaseMs: number;
  readonly audit: AuditEntry;
}

export class CopyTarget {
  readonly schema: string;
  readonly #line: CopyLine;
  #id = "";
  #turn = 0;

  constructor(options: CopyTargetOptions) {
    assertSchemaName(options.schema);
    this.schema = options.schema;
    this.#line = new CopyLine(options);
  }

  close(): Promise<void> {
    return this.#line.close();
  }

  /** Looks, and changes nothing. */
  look(): Promise<Standing> {
    return this.#line.transaction({ name: "look", id: this.#id }, async (handle) => {
      await checkServer(handle);
      const [found] = await handle.runText<{ database: string; there: boolean }>(
        "SELECT current_database() AS database, to_regclass('counterfoil.receipts') IS NOT NULL AS there",
        [],
      );
      const { database = "", there = false } = found ?? {};
      if (!there) return { database, mark: undefined, used: undefined };
      return { database, mark: await readMark(handle), used: await usedTable(handle) };
    });
  }

  /** Makes the schema, closed from the start to all but this copy; gives how far the copy had got before. */
  async begin(id: string, from: string): Promise<Progress> {
    this.#id = id;
    const { schema } = this;
    return this.#line.transaction({ name: "begin", id }, async (handle) => {
      await migrateSchema(handle, { schema, known: knownMigrations(), now: handle.now });
      const mark = await readMark(handle);
      if (mark === undefined) {
        // Whoever wrote before this is seen by the look behind it.
        await closeSchema(handle, { id, from, now: handle.now });
        const used = await usedTable(handle);
        if (used !== undefined) throw usedError(schema, used);
      } else if (mark.checksum !== id || !mark.breaking) {
        throw usedError(schema, `another copy, of ${mark.name}`);
      }
      const [copying] = await handle.runText<{ turn: number; walked: string }>("SELECT * FROM counterfoil.copying", []);
      this.#turn = copying?.turn ?? 0;
      return JSON.parse(copying?.walked ?? "{}") as Progress;
    });
  }

  /** Writes units over, and how far the copy has got with them. */
  async write(batch: CopiedBatch, progress?: Progress): Promise<void> {
    await this.#inTurn("write", progress, async (handle) => {
      for (const name of unitTables[batch.kind]) {
        if (batch.keys.length > 0) await run(handle, removeRows(name, batch.keys));
        const rows = batch.rows[name] ?? [];
        if (rows.length > 0) await run(handle, insertRows(name, rows));
      }
    });
  }

  /** Units as they stand here. */
  async read(kind: UnitKind, keys: readonly UnitKey[]): Promise<CopiedRows> {
    return this.#rows("read", kind, (name) => selectUnits(name, keys));
  }

  /** Units behind one key and up to another, as they stand here; `null` is no bound. */
  async readRange(kind: UnitKind, after: UnitKey | null, upTo: UnitKey | null): Promise<CopiedRows> {
    return this.#rows("read", kind, (name) => selectRange(name, after, upTo));
  }

  async counts(): Promise<RowCounts> {
    return this.#line.transaction({ name: "count", id: this.#id }, async (handle) => {
      const counts: [string, number][] = [];
      for (const name of tableNames) {
        const [row] = await handle.runText<{ count: number }>(`SELECT count(*) AS count FROM counterfoil.${name}`, []);
        counts.push([name, row?.count ?? 0]);
      }
      return Object.fromEntries(counts) as RowCounts;
    });
  }

  /** Lets the server learn what is there, so that the first claims are planned well. */
  async analyze(): Promise<void> {
    await this.#line.transaction({ name: "analyze", id: this.#id }, async (handle) => {
      for (const name of tableNames) await handle.runText(`ANALYZE counterfoil.${name}`, []);
    });
  }

  /** Ends the copy: what was told by the file's clocks is told by the server's, and everybody may come in. */
  async open({ before, leaseMs, audit, ...opening }: Opening): Promise<void> {
    await this.#inTurn("open", undefined, async (handle) => {
      const after = opening.after();
      await handle.runText(tellByServer, [
        handle.now,
        before.wallMs,
        before.monotonicMs,
        after.wallMs,
        after.monotonicMs,
        after.bootId,
      ]);
      await handle.runText(endLeases, [handle.now, after.wallMs, leaseMs]);
      for (const name of numberedTables) {
        await handle.runText(
          `SELECT setval('counterfoil.${name}_id_seq', (SELECT coalesce(max(id), 0) + 1 FROM counterfoil.${name}), false)`,
          [],
        );
      }
      const { who, action, target, why } = audit;
      await handle.runText(
        `INSERT INTO counterfoil.audit (at, who, action, target, why, before, after) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [handle.now, ...[who, action, target, why, audit.before, audit.after].map(plain)],
      );
      await openSchema(handle);
    });
  }

  /** Of two processes that copy at once, the one that comes second is told. */
  async #inTurn(
    name: string,
    progress: Progress | undefined,
    body: (handle: CopyHandle) => Promise<void>,
  ): Promise<void> {
    await this.#line.transaction({ name, id: this.#id }, async (handle) => {
      const mark = await readMark(handle);
      if (mark?.checksum !== this.#id || !mark.breaking) throw takenError();
      const taken = await handle.runText(
        "UPDATE counterfoil.copying SET turn = turn + 1, walked = coalesce($2, walked) WHERE turn = $1 RETURNING turn",
        [this.#turn, progress === undefined ? null : JSON.stringify(progress)],
      );
      if (taken.length === 0) throw takenError();
      await body(handle);
    });
    this.#turn += 1;
  }

  async #rows(
    step: string,
    kind: UnitKind,
    statement: (name: (typeof tableNames)[number]) => CopyStatement,
  ): Promise<CopiedRows> {
    return this.#line.transaction({ name: step, id: this.#id }, async (handle) => {
      const tables: [string, readonly CopiedRow[]][] = [];
      for (const name of unitTables[kind]) {
        const { text, values } = statement(name);
        tables.push([name, (await handle.rows(text, values)) as readonly CopiedRow[]]);
      }
      return Object.fromEntries(tables) as CopiedRows;
    });
  }
}

/**
 * Readings of other clocks mean nothing here. A key counts as old as any of them says, and a call as
 * young; where a wall clock has lost the time, the key with it.
 */
const tellByServer = `
  UPDATE counterfoil.progress AS p SET
    key_since_wall = k.at, key_since_monotonic = k.at, key_since_boot = CASE WHEN k.at IS NOT NULL THEN '' END,
    last_call_wall = c.at, last_call_monotonic = c.at, last_call_boot = CASE WHEN c.at IS NOT NULL THEN '' END
  FROM counterfoil.progress AS o
  CROSS JOIN LATERAL (SELECT CASE WHEN o.key_since_boot = $6
      THEN greatest($4 - o.key_since_wall, $5 - o.key_since_monotonic) ELSE $4 - o.key_since_wall END AS ms) AS age
  CROSS JOIN LATERAL (SELECT CASE WHEN age.ms < 0 THEN 0 ELSE $1::bigint - age.ms END AS at) AS k
  CROSS JOIN LATERAL (SELECT CASE WHEN o.last_call_wall IS NOT NULL THEN
      $1::bigint - greatest(0, CASE WHEN o.last_call_boot = $6
        THEN least($2 - o.last_call_wall, $3 - o.last_call_monotonic) ELSE $2 - o.last_call_wall END) END AS at) AS c
  WHERE o.obligation_id = p.obligation_id AND (p.key_since_wall IS NOT NULL OR p.last_call_wall IS NOT NULL)`;

/** A lease goes on for as long as its holder may, which can renew it no more; then it is rescued as any other. */
const endLeases = `
  UPDATE counterfoil.progress SET lease_until = $1::bigint + $3, lease_from = $1::bigint - greatest(0, $2 - lease_from)
  WHERE lease_worker IS NOT NULL`;

async function run({ runText }: CopyHandle, { text, values }: CopyStatement): Promise<void> {
  await runText(text, values);
}

function takenError(): CounterfoilError {
  return new CounterfoilError("STORE_BUSY", "Cannot copy: another process makes the same copy; let it end first");
}

function usedError(schema: string, what: string): CounterfoilError {
  return new CounterfoilError(
    "NOT_ALLOWED",
    `Cannot copy into the schema "${schema}": it holds ${what}; give another one with --schema, or drop it if nobody needs it`,
  );
}
