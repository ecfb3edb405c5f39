/** What the database holds, read from outside by statements that both engines take. */
import type { Row } from "../support/temporary-database.ts";
import type { AttemptRow } from "./doubles.ts";
import { factOf, type Shop } from "./facts.ts";
import type { Kept } from "./reference.ts";

export interface Books {
  readonly address: string;
  /** Runs one statement from outside of what is tested. */
  readonly run: (text: string) => Promise<readonly Row[]>;
}

export interface OrderRow {
  readonly status: string;
  readonly items: number;
  readonly total: number;
  readonly tracking: string | null;
  readonly settled: number;
}

export interface StockRow {
  readonly revision: number;
  readonly level: number;
  readonly kept: number;
}

export interface ObligationRow {
  readonly state: string | null;
  readonly amount: number | undefined;
}

/** An event as it is kept, with its bytes. */
export interface KeptRow extends Kept {
  readonly body: string;
}

export class Ledger {
  readonly #books: Books;

  constructor(books: Books) {
    this.#books = books;
  }

  async createTables(): Promise<void> {
    await this.#books.run(`
      CREATE TABLE orders (
        tenant TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'placed', items INTEGER NOT NULL DEFAULT 0,
        total INTEGER NOT NULL DEFAULT 0, tracking TEXT, settled INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (tenant, id))`);
    await this.#books.run(`
      CREATE TABLE stock (
        tenant TEXT NOT NULL, item TEXT NOT NULL, revision INTEGER NOT NULL, level INTEGER, PRIMARY KEY (tenant, item))`);
  }

  async kept(): Promise<readonly KeptRow[]> {
    const rows = await this.#books.run(`
      SELECT r.connection, r.event_id, r.outcome, p.bytes
      FROM ${this.#ours("receipts")} AS r JOIN ${this.#ours("payloads")} AS p ON p.receipt_id = r.id`);
    return rows.map(({ connection, event_id: id, outcome, bytes }) => {
      const body = Buffer.from(bytes as Uint8Array).toString();
      return { shop: connection as Shop, id: String(id), outcome: String(outcome), body, fact: factOf(body) };
    });
  }

  async orders(): Promise<ReadonlyMap<string, OrderRow>> {
    const rows = await this.#books.run("SELECT * FROM orders");
    return new Map(rows.map((row) => [`${String(row["tenant"])}/${String(row["id"])}`, row as unknown as OrderRow]));
  }

  /** By `shop/item`: the revision and level that the application wrote, and the level that the engine keeps. */
  async stock(): Promise<ReadonlyMap<string, StockRow>> {
    const rows = await this.#books.run(`
      SELECT s.tenant, s.item, s.revision, s.level, k.state
      FROM stock AS s LEFT JOIN ${this.#ours("snapshots")} AS k ON k.connection = s.tenant AND k.id = s.item`);
    return new Map(
      rows.map(({ tenant, item, revision, level, state }) => {
        const { level: kept } = JSON.parse(String(state)) as { level: number };
        return [`${String(tenant)}/${String(item)}`, { revision: Number(revision), level: Number(level), kept }];
      }),
    );
  }

  async obligations(): Promise<ReadonlyMap<string, ObligationRow>> {
    const rows = await this.#books.run(`
      SELECT o.tenant, o.operation_key, o.state, q.input
      FROM ${this.#ours("obligations")} AS o JOIN ${this.#ours("requests")} AS q ON q.obligation_id = o.id`);
    return new Map(
      rows.map(({ tenant, operation_key: key, state, input }) => {
        const { amount } = JSON.parse(String(input)) as { amount?: number };
        return [`${String(tenant)}/${String(key)}`, { state: state as string | null, amount }];
      }),
    );
  }

  /** The attempts at one obligation, by `shop/operation key`. */
  async attempts(name: string): Promise<readonly AttemptRow[]> {
    const rows = await this.#books.run(`
      SELECT a.kind, a.verdict, a.started_at, a.ended_at
      FROM ${this.#ours("attempts")} AS a JOIN ${this.#ours("obligations")} AS o ON o.id = a.obligation_id
      WHERE o.tenant || '/' || o.operation_key = '${name}' ORDER BY a.fence`);
    return rows.map(({ kind, verdict, started_at: startedAt, ended_at: endedAt }) => {
      const ended = endedAt === null ? null : Number(endedAt);
      return { kind: String(kind), verdict: String(verdict), startedAt: Number(startedAt), endedAt: ended };
    });
  }

  /** Events of which another content was kept beside the first, by `shop/id`. */
  async mismatched(): Promise<ReadonlySet<string>> {
    const rows = await this.#books.run(`
      SELECT r.connection, r.event_id FROM ${this.#ours("mismatches")} AS m
      JOIN ${this.#ours("receipts")} AS r ON r.id = m.receipt_id`);
    return new Set(rows.map(({ connection, event_id: id }) => `${String(connection)}/${String(id)}`));
  }

  /** What is still to be done: obligations that are not done, and events that are open although their order is there. */
  async open(): Promise<readonly string[]> {
    const rows = await this.#books.run(`
      SELECT tenant || '/' || operation_key AS name FROM ${this.#ours("obligations")} WHERE state IS NULL OR state <> 'done'
      UNION ALL
      SELECT connection || '/' || event_id || ' ' || outcome FROM ${this.#ours("receipts")} AS r
      WHERE outcome IN ('held', 'queued') OR (outcome = 'parked' AND EXISTS (
        SELECT 1 FROM orders AS o WHERE o.tenant = r.tenant AND o.id = r.waits_id))`);
    return rows.map(({ name }) => String(name));
  }

  /**
   * What holds in every committed state, looked at in one statement while everything runs: what is paid
   * is owed, what is owed is paid, and an item counts if and only if its event is applied.
   */
  async torn(): Promise<readonly string[]> {
    const [row] = await this.#books.run(`
      SELECT
        (SELECT count(*) FROM orders AS o WHERE o.status = 'paid' AND NOT EXISTS (
          SELECT 1 FROM ${this.#ours("obligations")} AS b
          WHERE b.tenant = o.tenant AND b.operation_key = o.id || '/fulfil/v1')) AS unowed,
        (SELECT count(*) FROM ${this.#ours("obligations")} AS b
          WHERE b.operation_key LIKE '%/fulfil/v1' AND NOT EXISTS (
            SELECT 1 FROM orders AS o
            WHERE o.tenant = b.tenant AND o.id || '/fulfil/v1' = b.operation_key AND o.status = 'paid')) AS unpaid,
        (SELECT coalesce(sum(items), 0) FROM orders) - (SELECT count(*) FROM ${this.#ours("receipts")}
          WHERE type = 'item.added' AND outcome = 'applied') AS items`);
    const wrong = Object.entries(row ?? {}).filter(([, count]) => Number(count) !== 0);
    return wrong.map(([name, count]) => `a committed state is torn: ${name} ${String(count)}`);
  }

  #ours(table: string): string {
    return this.#books.address.startsWith("postgres:") ? `counterfoil.${table}` : `counterfoil_${table}`;
  }
}
