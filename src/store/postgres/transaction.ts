import { CounterfoilError } from "../../domain/errors.ts";
import type { Stamp } from "../../domain/instant.ts";
import type { Prerequisite } from "../../domain/outcome.ts";
import type { OrderKey, Receipt } from "../../domain/receipt.ts";
import type { SqlResult, SqlValue } from "../../domain/sql.ts";
import type * as Contract from "../store.ts";
import { evidence } from "./answers.ts";
import { claimObligations } from "./claims.ts";
import { type DriverQuery, type DriverResult, sqlState } from "./driver.ts";
import { freeOrders } from "./effect-orders.ts";
import type { Handle } from "./handle.ts";
import { dueLanes } from "./lanes.ts";
import { expiredLeases, renewLeases } from "./leases.ts";
import { moveObligations } from "./moves.ts";
import { claimNotices, forgetNotices, settleNotices } from "./notices.ts";
import { amendRequest, lockObligation, oweObligations, pauseDestination } from "./obligations.ts";
import {
  arrive,
  dueReceipts,
  lockNames,
  lockReceipt,
  lockReceipts,
  returnReceipts,
  startReceipts,
} from "./open-receipts.ts";
import { firstInOrder, lockOrders } from "./order.ts";
import { controls } from "./parse-control.ts";
import { pauseConnection } from "./paused-connections.ts";
import { prune } from "./prune.ts";
import { claimReceipts, discardReceipts, expireBytes, settleReceipts } from "./receipts.ts";
import { recordRefusals, touch, writeAudit, writeSnapshot } from "./records.ts";
import { acknowledgeMismatches, recordRedeliveries } from "./redeliveries.ts";
import { claimRefreshes, dropRefresh, endRefresh, wantRefreshes } from "./refreshes.ts";
import type { Scopes } from "./scopes.ts";
import { numbered, templateText } from "./statements.ts";
import { clampDue, leaveWorker, seeWorker } from "./upkeep.ts";
import { bindValues, readTypes } from "./values.ts";
import { buryOperation, cancelRequested, requestCancel } from "./withdrawals.ts";

type Rows = SqlResult<Readonly<Record<string, SqlValue>>>;

export interface TransactionParts {
  readonly scopes: Scopes;
  /** Runs a user's statement. */
  readonly ask: (query: DriverQuery) => Promise<DriverResult>;
  readonly schema: string;
  /** What the functions of each topic work with. */
  readonly handle: Handle;
  /** Where the transaction is hopeful: gives a strand. */
  readonly strand?: (() => Contract.Strand) | undefined;
}

/** An open transaction: each method runs its topic's statements inside the innermost scope. */
export class PostgresTransaction implements Contract.StoreTx {
  readonly stamp: Stamp;
  readonly now: number;
  readonly #scopes: Scopes;
  readonly #ask: TransactionParts["ask"];
  readonly #schema: string;
  readonly #handle: Handle;
  readonly #strand: TransactionParts["strand"];

  constructor({ scopes, ask, schema, handle, strand }: TransactionParts) {
    this.stamp = handle.stamp;
    this.now = handle.stamp.wallMs;
    this.#scopes = scopes;
    this.#ask = ask;
    this.#schema = schema;
    this.#handle = handle;
    this.#strand = strand;
  }

  get native(): unknown {
    return this.#scopes.native;
  }

  attempt<T>(body: () => Promise<T>, options: Contract.AttemptOptions = {}): Promise<T> {
    return this.#scopes.attempt(body, options);
  }

  boundLocks(lockMs: number): void {
    this.#scopes.boundLocks(lockMs);
  }

  strand(): Contract.Strand | undefined {
    return this.#strand?.();
  }

  query(text: TemplateStringsArray, values: readonly SqlValue[]): Promise<Rows> {
    return this.#runUser(templateText(text), values);
  }

  run(text: string, values: readonly SqlValue[]): Promise<Rows> {
    return this.#runUser(numbered(text), values);
  }

  async #runUser(text: string, given: readonly SqlValue[]): Promise<Rows> {
    const values = bindValues(given);
    if (controls(text)) this.#scopes.refuse(controlError());
    // In the extended protocol also without values: the server then takes one statement only.
    try {
      return withChanges(await this.#ask({ text, values, types: readTypes, queryMode: "extended" }));
    } catch (error) {
      throw placed(error);
    }
  }

  async claimReceipts(drafts: readonly Contract.ReceiptDraft[]): Promise<readonly Contract.ClaimedReceipt[]> {
    return claimReceipts(this.#handle, drafts);
  }

  async settleReceipts(settled: readonly Contract.SettledReceipt[]): Promise<readonly boolean[]> {
    return settleReceipts(this.#handle, settled);
  }

  async discardReceipts(ids: readonly number[]): Promise<void> {
    await discardReceipts(this.#handle, ids);
  }

  async expireBytes(limit: number): Promise<number> {
    return expireBytes(this.#handle, limit);
  }

  async recordRedeliveries(redeliveries: readonly Contract.Redelivery[]): Promise<void> {
    await recordRedeliveries(this.#handle, redeliveries);
  }

  async acknowledgeMismatches(receiptId: number): Promise<number> {
    return acknowledgeMismatches(this.#handle, receiptId);
  }

  async dueReceipts(options: {
    readonly limit: number;
    readonly connections: readonly string[];
  }): Promise<readonly Receipt[]> {
    return dueReceipts(this.#handle, options);
  }

  async startReceipts(ids: readonly number[], leaseMs: number): Promise<void> {
    await startReceipts(this.#handle, ids, leaseMs);
  }

  async returnReceipts(started: readonly Pick<Receipt, "id" | "version">[]): Promise<void> {
    await returnReceipts(this.#handle, started);
  }

  async lockReceipts(ids: readonly number[]): Promise<readonly Contract.OpenReceipt[]> {
    return lockReceipts(this.#handle, ids);
  }

  async lockReceipt(id: number): Promise<Contract.OpenReceipt | undefined> {
    return lockReceipt(this.#handle, id);
  }

  async lockNames(tenant: string, names: readonly Prerequisite[]): Promise<void> {
    await lockNames(this.#handle, { schema: this.#schema, tenant, names });
  }

  async lockOrders(lines: readonly OrderKey[]): Promise<void> {
    await lockOrders(this.#handle, lines);
  }

  async firstInOrder(line: OrderKey, except: number): Promise<Contract.InLine | undefined> {
    return firstInOrder(this.#handle, line, except);
  }

  async arrive(tenant: string, name: Prerequisite): Promise<number> {
    return arrive(this.#handle, tenant, name);
  }

  async owe(drafts: readonly Contract.ObligationDraft[]): Promise<readonly Contract.OwedObligation[]> {
    return oweObligations(this.#handle, drafts);
  }

  async bury(tombstone: Contract.Tombstone): Promise<boolean> {
    return buryOperation(this.#handle, tombstone);
  }

  async requestCancel(obligationId: number): Promise<void> {
    await requestCancel(this.#handle, obligationId);
  }

  async cancelRequested(obligationIds: readonly number[]): Promise<ReadonlySet<number>> {
    return cancelRequested(this.#handle, obligationIds);
  }

  async freeOrders(after: string, limit: number): Promise<Contract.FreedOrders> {
    return freeOrders(this.#handle, after, limit);
  }

  async dueLanes(): Promise<readonly Contract.Lane[]> {
    return dueLanes(this.#handle);
  }

  async claim(options: Parameters<Contract.ObligationWrites["claim"]>[0]): Promise<readonly Contract.Claim[]> {
    return claimObligations(this.#handle, options);
  }

  async renew(held: Parameters<Contract.ObligationWrites["renew"]>[0], leaseMs: number): Promise<readonly boolean[]> {
    return renewLeases(this.#handle, held, leaseMs);
  }

  async move(moves: readonly Contract.Move[]): Promise<readonly boolean[]> {
    return moveObligations(this.#handle, moves);
  }

  async expiredLeases(limit: number): ReturnType<Contract.ObligationWrites["expiredLeases"]> {
    return expiredLeases(this.#handle, limit);
  }

  async evidence(obligationIds: readonly number[]): ReturnType<Contract.ObligationWrites["evidence"]> {
    return evidence(this.#handle, obligationIds);
  }

  async lockObligation(tenant: string, operationKey: string): ReturnType<Contract.ObligationWrites["lockObligation"]> {
    return lockObligation(this.#handle, tenant, operationKey);
  }

  async amend(...[id, request, digest]: Parameters<Contract.ObligationWrites["amend"]>): Promise<void> {
    await amendRequest(this.#handle, id, { ...request, digest });
  }

  async pauseConnection(connection: string, reason: string | null): Promise<void> {
    await pauseConnection(this.#handle, connection, reason);
  }

  async pauseDestination(destination: string, reason: string | null): Promise<void> {
    await pauseDestination(this.#handle, destination, reason);
  }

  async snapshot(draft: Contract.SnapshotDraft): ReturnType<Contract.StateWrites["snapshot"]> {
    return writeSnapshot(this.#handle, draft);
  }

  async wantRefreshes(drafts: readonly Contract.RefreshDraft[]): Promise<void> {
    await wantRefreshes(this.#handle, drafts);
  }

  async claimRefreshes(
    options: Parameters<Contract.RefreshWrites["claimRefreshes"]>[0],
  ): Promise<readonly Contract.ClaimedRefresh[]> {
    return claimRefreshes(this.#handle, options);
  }

  async endRefresh(end: Contract.RefreshEnd): Promise<boolean> {
    return endRefresh(this.#handle, end);
  }

  async dropRefresh(refresh: Contract.Refresh): Promise<boolean> {
    return dropRefresh(this.#handle, refresh);
  }

  async audit(entry: Contract.AuditEntry): Promise<void> {
    await writeAudit(this.#handle, entry);
  }

  async recordRefusals(refusals: readonly Contract.RefusalFacts[]): Promise<void> {
    await recordRefusals(this.#handle, refusals);
  }

  async touch(): Promise<void> {
    await touch(this.#handle);
  }

  async prune(batch: Contract.PruneBatch): Promise<Contract.Pruned> {
    return prune(this.#handle, batch);
  }

  async claimNotices(claim: Contract.NoticeClaim): Promise<readonly string[]> {
    return claimNotices(this.#handle, claim);
  }

  async settleNotices(keys: readonly string[], isTold: boolean): Promise<void> {
    await settleNotices(this.#handle, keys, isTold);
  }

  async forgetNotices(kept: readonly string[], judged: readonly string[]): Promise<void> {
    await forgetNotices(this.#handle, kept, judged);
  }

  async leaveWorker(name: string): Promise<void> {
    await leaveWorker(this.#handle, name);
  }

  async seeWorker(sign: Contract.WorkerSign): Promise<void> {
    await seeWorker(this.#handle, sign);
  }

  async clampDue(bounds: Contract.DueBounds): Promise<number> {
    return clampDue(this.#handle, bounds);
  }
}

/** Tells where the user's code stands that the statement is of, instead of where its answer was read. */
function placed(error: unknown): unknown {
  if (error instanceof Error && sqlState(error) !== undefined) Error.captureStackTrace(error, placed);
  return error;
}

/** Commands whose count is of rows that they changed. */
const writing: ReadonlySet<string | null> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

function withChanges({ command, rowCount, rows }: DriverResult): Rows {
  const result = rows as Record<string, SqlValue>[] & { changes: number };
  result.changes = writing.has(command) ? (rowCount ?? 0) : 0;
  return result;
}

function controlError(): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_CONTROL",
    "Cannot run a statement: it controls the transaction or the connection; leave BEGIN, COMMIT, ROLLBACK, SAVEPOINT and the like to the engine, use SET LOCAL for SET, and pg_advisory_xact_lock for locks",
  );
}
