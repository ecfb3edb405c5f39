import type { Stamp } from "../../domain/instant.ts";
import type { Prerequisite } from "../../domain/outcome.ts";
import type { OrderKey, Receipt } from "../../domain/receipt.ts";
import type { SqlResult, SqlValue } from "../../domain/sql.ts";
import type * as Contract from "../store.ts";
import { evidence } from "./answers.ts";
import { claimObligations, dueLanes } from "./claims.ts";
import type { Connection } from "./connection.ts";
import { freeOrders } from "./effect-orders.ts";
import type { Handle } from "./handle.ts";
import { expiredLeases, moveObligations, renewLeases } from "./moves.ts";
import { claimNotices, forgetNotices, settleNotices } from "./notices.ts";
import {
  amendRequest,
  buryOperation,
  cancelRequested,
  lockObligation,
  oweObligations,
  pauseDestination,
  requestCancel,
} from "./obligations.ts";
import {
  arrive,
  dueReceipts,
  firstInOrder,
  lockReceipt,
  lockReceipts,
  returnReceipts,
  startReceipts,
} from "./open-receipts.ts";
import { pauseConnection } from "./paused-connections.ts";
import { prune } from "./prune.ts";
import { claimReceipts, discardReceipts, expireBytes, settleReceipts } from "./receipts.ts";
import { recordRefusals, touch, writeAudit, writeSnapshot } from "./records.ts";
import { acknowledgeMismatches, recordRedeliveries } from "./redeliveries.ts";
import { claimRefreshes, dropRefresh, endRefresh, wantRefreshes } from "./refreshes.ts";
import type { Scopes } from "./scopes.ts";
import type { UserStatement } from "./statements.ts";
import { clampDue, leaveWorker, seeWorker } from "./upkeep.ts";
import { bindValues, readRows } from "./values.ts";

type Rows = SqlResult<Readonly<Record<string, SqlValue>>>;

/** An open transaction: each method runs its topic's statements at once, inside the innermost scope. */
export class SqliteTransaction implements Contract.StoreTx {
  readonly stamp: Stamp;
  readonly now: number;
  readonly #scopes: Scopes;
  readonly #connection: Connection;
  readonly #handle: Handle;

  constructor(
    connection: Connection,
    {
      scopes,
      stamp,
      limits,
    }: { readonly scopes: Scopes; readonly stamp: Stamp; readonly limits: Contract.StoreLimits },
  ) {
    this.stamp = stamp;
    this.now = stamp.wallMs;
    this.#scopes = scopes;
    this.#connection = connection;
    this.#handle = { statement: (definition) => connection.statements.own(definition), stamp, limits };
  }

  get native(): unknown {
    return this.#scopes.native;
  }

  attempt<T>(body: () => Promise<T>): Promise<T> {
    return this.#scopes.attempt(body);
  }

  boundLocks(): void {
    // The transaction has the one lock that there is.
  }

  strand(): undefined {
    // A statement is carried out before the call that asks for it returns.
  }

  async query(text: TemplateStringsArray, values: readonly SqlValue[]): Promise<Rows> {
    return this.#scopes.use(() => this.#runUser(this.#connection.statements.template(text), values));
  }

  async run(text: string, values: readonly SqlValue[]): Promise<Rows> {
    return this.#scopes.use(() => this.#runUser(this.#connection.statements.text(text), values));
  }

  #runUser({ statement, returnsRows, writes, defines }: UserStatement, values: readonly SqlValue[]): Rows {
    const bound = bindValues(values);
    if (defines) this.#scopes.obscure();
    return this.#connection.statements.step("query", () => {
      if (!returnsRows) {
        const { changes } = statement.run(...bound);
        return withChanges([], writes ? Number(changes) : 0);
      }
      const rows = readRows(statement.all(...bound));
      return withChanges(rows, writes ? rows.length : 0);
    });
  }

  async claimReceipts(drafts: readonly Contract.ReceiptDraft[]): Promise<readonly Contract.ClaimedReceipt[]> {
    return this.#scopes.use(() => claimReceipts(this.#handle, drafts));
  }

  async settleReceipts(settled: readonly Contract.SettledReceipt[]): Promise<readonly boolean[]> {
    return this.#scopes.use(() => settleReceipts(this.#handle, settled));
  }

  async discardReceipts(ids: readonly number[]): Promise<void> {
    this.#scopes.use(() => discardReceipts(this.#handle, ids));
  }

  async expireBytes(limit: number): Promise<number> {
    return this.#scopes.use(() => expireBytes(this.#handle, limit));
  }

  async recordRedeliveries(redeliveries: readonly Contract.Redelivery[]): Promise<void> {
    this.#scopes.use(() => recordRedeliveries(this.#handle, redeliveries));
  }

  async acknowledgeMismatches(receiptId: number): Promise<number> {
    return this.#scopes.use(() => acknowledgeMismatches(this.#handle, receiptId));
  }

  async dueReceipts(options: {
    readonly limit: number;
    readonly connections: readonly string[];
  }): Promise<readonly Receipt[]> {
    return this.#scopes.use(() => dueReceipts(this.#handle, options));
  }

  async startReceipts(ids: readonly number[], leaseMs: number): Promise<void> {
    this.#scopes.use(() => startReceipts(this.#handle, ids, leaseMs));
  }

  async returnReceipts(started: readonly Pick<Receipt, "id" | "version">[]): Promise<void> {
    this.#scopes.use(() => returnReceipts(this.#handle, started));
  }

  async lockReceipts(ids: readonly number[]): Promise<readonly Contract.OpenReceipt[]> {
    return this.#scopes.use(() => lockReceipts(this.#handle, ids));
  }

  async lockReceipt(id: number): Promise<Contract.OpenReceipt | undefined> {
    return this.#scopes.use(() => lockReceipt(this.#handle, id));
  }

  /** Nothing to lock: one writer at a time sees every park and every arrival. */
  async lockNames(_tenant: string, _names: readonly Prerequisite[]): Promise<void> {
    this.#scopes.use(() => undefined);
  }

  /** Nothing to lock here either. */
  async lockOrders(_lines: readonly OrderKey[]): Promise<void> {
    this.#scopes.use(() => undefined);
  }

  async firstInOrder(line: OrderKey, except: number): Promise<Contract.InLine | undefined> {
    return this.#scopes.use(() => firstInOrder(this.#handle, line, except));
  }

  async arrive(tenant: string, name: Prerequisite): Promise<number> {
    return this.#scopes.use(() => arrive(this.#handle, tenant, name));
  }

  async owe(drafts: readonly Contract.ObligationDraft[]): Promise<readonly Contract.OwedObligation[]> {
    return this.#scopes.use(() => oweObligations(this.#handle, drafts));
  }

  async bury(tombstone: Contract.Tombstone): Promise<boolean> {
    return this.#scopes.use(() => buryOperation(this.#handle, tombstone));
  }

  async requestCancel(obligationId: number): Promise<void> {
    this.#scopes.use(() => requestCancel(this.#handle, obligationId));
  }

  async cancelRequested(obligationIds: readonly number[]): Promise<ReadonlySet<number>> {
    return this.#scopes.use(() => cancelRequested(this.#handle, obligationIds));
  }

  async freeOrders(after: string, limit: number): Promise<Contract.FreedOrders> {
    return this.#scopes.use(() => freeOrders(this.#handle, after, limit));
  }

  async dueLanes(): Promise<readonly Contract.Lane[]> {
    return this.#scopes.use(() => dueLanes(this.#handle));
  }

  async claim(options: Parameters<Contract.ObligationWrites["claim"]>[0]): Promise<readonly Contract.Claim[]> {
    return this.#scopes.use(() => claimObligations(this.#handle, options));
  }

  async renew(held: Parameters<Contract.ObligationWrites["renew"]>[0], leaseMs: number): Promise<readonly boolean[]> {
    return this.#scopes.use(() => renewLeases(this.#handle, held, leaseMs));
  }

  async move(moves: readonly Contract.Move[]): Promise<readonly boolean[]> {
    return this.#scopes.use(() => moveObligations(this.#handle, moves));
  }

  async expiredLeases(limit: number): ReturnType<Contract.ObligationWrites["expiredLeases"]> {
    return this.#scopes.use(() => expiredLeases(this.#handle, limit));
  }

  async evidence(obligationIds: readonly number[]): ReturnType<Contract.ObligationWrites["evidence"]> {
    return this.#scopes.use(() => evidence(this.#handle, obligationIds));
  }

  async lockObligation(tenant: string, operationKey: string): ReturnType<Contract.ObligationWrites["lockObligation"]> {
    return this.#scopes.use(() => lockObligation(this.#handle, tenant, operationKey));
  }

  async amend(...[id, request, digest]: Parameters<Contract.ObligationWrites["amend"]>): Promise<void> {
    this.#scopes.use(() => amendRequest(this.#handle, id, { ...request, digest }));
  }

  async pauseConnection(connection: string, reason: string | null): Promise<void> {
    this.#scopes.use(() => pauseConnection(this.#handle, connection, reason));
  }

  async pauseDestination(destination: string, reason: string | null): Promise<void> {
    this.#scopes.use(() => pauseDestination(this.#handle, destination, reason));
  }

  async snapshot(draft: Contract.SnapshotDraft): ReturnType<Contract.StateWrites["snapshot"]> {
    return this.#scopes.use(() => writeSnapshot(this.#handle, draft));
  }

  async wantRefreshes(drafts: readonly Contract.RefreshDraft[]): Promise<void> {
    this.#scopes.use(() => wantRefreshes(this.#handle, drafts));
  }

  async claimRefreshes(
    options: Parameters<Contract.RefreshWrites["claimRefreshes"]>[0],
  ): Promise<readonly Contract.ClaimedRefresh[]> {
    return this.#scopes.use(() => claimRefreshes(this.#handle, options));
  }

  async endRefresh(end: Contract.RefreshEnd): Promise<boolean> {
    return this.#scopes.use(() => endRefresh(this.#handle, end));
  }

  async dropRefresh(refresh: Contract.Refresh): Promise<boolean> {
    return this.#scopes.use(() => dropRefresh(this.#handle, refresh));
  }

  async audit(entry: Contract.AuditEntry): Promise<void> {
    this.#scopes.use(() => writeAudit(this.#handle, entry));
  }

  async recordRefusals(refusals: readonly Contract.RefusalFacts[]): Promise<void> {
    this.#scopes.use(() => recordRefusals(this.#handle, refusals));
  }

  async touch(): Promise<void> {
    this.#scopes.use(() => touch(this.#handle));
  }

  async claimNotices(claim: Contract.NoticeClaim): Promise<readonly string[]> {
    return this.#scopes.use(() => claimNotices(this.#handle, claim));
  }

  async settleNotices(keys: readonly string[], isTold: boolean): Promise<void> {
    this.#scopes.use(() => settleNotices(this.#handle, keys, isTold));
  }

  async forgetNotices(kept: readonly string[], judged: readonly string[]): Promise<void> {
    this.#scopes.use(() => forgetNotices(this.#handle, kept, judged));
  }

  async leaveWorker(name: string): Promise<void> {
    this.#scopes.use(() => leaveWorker(this.#handle, name));
  }

  async seeWorker(sign: Contract.WorkerSign): Promise<void> {
    this.#scopes.use(() => seeWorker(this.#handle, sign));
  }

  async prune(batch: Contract.PruneBatch): Promise<Contract.Pruned> {
    return this.#scopes.use(() => prune(this.#handle, batch));
  }

  async clampDue(bounds: Contract.DueBounds): Promise<number> {
    return this.#scopes.use(() => clampDue(this.#handle, bounds));
  }
}

function withChanges(rows: Record<string, SqlValue>[], changes: number): Rows {
  const result = rows as Record<string, SqlValue>[] & { changes: number };
  result.changes = changes;
  return result;
}
