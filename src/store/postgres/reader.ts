import type { Obligation } from "../../domain/obligation.ts";
import type { Payload, Receipt } from "../../domain/receipt.ts";
import type * as Contract from "../reader.ts";
import type { ListedRefresh, RefreshPage } from "../refresh-pages.ts";
import type { Refresh, ResourceKey } from "../refresh-writes.ts";
import type { RefusalFacts } from "../store.ts";
import type { ReadHandle } from "./handle.ts";
import { pausedConnections } from "./paused-connections.ts";
import { readAttention } from "./reader-attention.ts";
import { pausedDestinations, readCounts } from "./reader-counts.ts";
import { listObligations, readObligation } from "./reader-obligations.ts";
import { listReceipts, readPayload, readReceipt } from "./reader-receipts.ts";
import { listRefusals, readSnapshot } from "./reader-records.ts";
import { readDueConnections } from "./reader-work.ts";
import { listRefreshes, readRefresh } from "./refreshes.ts";

/** Runs reads against one state of the database. */
export type Read = <T>(read: (handle: ReadHandle) => Promise<T>) => Promise<T>;

/** Rows of one page at most, whatever is asked. */
const pageMax = 1_000;

export class PostgresReader implements Contract.StoreReader {
  readonly #read: Read;

  constructor(read: Read) {
    this.#read = read;
  }

  counts(): Promise<Contract.Counts> {
    return this.#read(readCounts);
  }

  pausedDestinations(): Promise<Contract.Counts["pausedDestinations"]> {
    return this.#read(pausedDestinations);
  }

  pausedConnections(): Promise<Contract.Counts["pausedConnections"]> {
    return this.#read((handle) => pausedConnections(handle));
  }

  receipts(filter: Contract.ReceiptFilter, page: Contract.Page): Promise<readonly Receipt[]> {
    return this.#read((handle) => listReceipts(handle, filter, bounded(page)));
  }

  dueConnections(options: Parameters<Contract.StoreReader["dueConnections"]>[0]): Promise<readonly string[]> {
    return this.#read((handle) => readDueConnections(handle, bounded(options)));
  }

  obligations(filter: Contract.ObligationFilter, page: Contract.Page): Promise<readonly Obligation[]> {
    return this.#read((handle) => listObligations(handle, filter, bounded(page)));
  }

  receipt(id: number): Promise<Contract.ReceiptDetail | undefined> {
    return this.#read((handle) => readReceipt(handle, id));
  }

  obligation(tenant: string, operationKey: string): Promise<Contract.ObligationDetail | undefined> {
    return this.#read((handle) => readObligation(handle, tenant, operationKey));
  }

  payload(receiptId: number): Promise<Payload | undefined> {
    return this.#read((handle) => readPayload(handle, receiptId));
  }

  attention(page: Contract.AttentionPage): Promise<readonly Contract.Attention[]> {
    return this.#read((handle) => readAttention(handle, bounded(page)));
  }

  refresh(key: ResourceKey): Promise<Refresh | undefined> {
    return this.#read((handle) => readRefresh(handle, key));
  }

  refreshes(
    filter: { readonly connection?: string | undefined },
    page: RefreshPage,
  ): Promise<readonly ListedRefresh[]> {
    return this.#read((handle) => listRefreshes(handle, filter, bounded(page)));
  }

  refusals(page: { readonly limit: number }): Promise<readonly RefusalFacts[]> {
    return this.#read((handle) => listRefusals(handle, bounded(page).limit));
  }

  snapshot(key: Parameters<Contract.StoreReader["snapshot"]>[0]): ReturnType<Contract.StoreReader["snapshot"]> {
    return this.#read((handle) => readSnapshot(handle, key));
  }
}

function bounded<Page extends { readonly limit: number }>(page: Page): Page {
  return { ...page, limit: Math.min(page.limit, pageMax) };
}
