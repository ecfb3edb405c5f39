/**
 * Every connection of an application: those that are listed, and those that a function finds by their
 * route, a row per customer.
 *
 * What was found is used for a bounded time, so that a secret which rotates counts in every process soon;
 * that there is none is believed for a shorter one. Both are kept in a bounded number, and one question
 * per id is asked at a time. A function that fails says nothing of an id: the delivery is to come again.
 */
import type { Clock } from "../domain/clock.ts";
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError, hasCode } from "../domain/errors.ts";
import type { Limits } from "../domain/limits.ts";
import type { Connection } from "./connection.ts";

/** Finds the connection of a route; `null` where there is none. */
export interface ConnectionSource {
  readonly route: string;
  /** Whether an id is of this route. */
  readonly matches: (id: string) => boolean;
  readonly find: (id: string, signal: AbortSignal) => Promise<Connection | null>;
}

export interface ConnectionsOptions {
  readonly listed: ReadonlyMap<string, Connection>;
  readonly sources: readonly ConnectionSource[];
  readonly limits: Pick<Limits, "connectionsKept" | "connectionMs" | "noConnectionMs" | "findMs" | "findsMax">;
  readonly clock: Clock;
}

interface Kept {
  readonly connection: Connection | undefined;
  readonly untilMs: number;
}

export class Connections {
  readonly listed: ReadonlyMap<string, Connection>;
  readonly sources: readonly ConnectionSource[];
  /** Tells the tenant whose an id has been, where the store is at hand. */
  tenantBefore: (id: string) => Promise<string | undefined> = () => Promise.resolve(undefined);
  readonly #options: ConnectionsOptions;
  readonly #found = new Map<string, Kept>();
  /** Apart, so that ids which strangers make up displace nobody. */
  readonly #missing = new Map<string, Kept>();
  /** The last id of the page of due ones that was looked at. */
  #preparedTo = "";
  readonly #finding = new Map<string, Promise<Connection | undefined>>();

  constructor(options: ConnectionsOptions) {
    this.listed = options.listed;
    this.sources = options.sources;
    this.#options = options;
  }

  /** A connection that is at hand: a listed one, or one that was found lately. */
  get(id: string): Connection | undefined {
    return this.listed.get(id) ?? this.#kept(id)?.connection;
  }

  /** All that are at hand now. What is done with them is done under these, whatever lapses meanwhile. */
  atHand(): ReadonlyMap<string, Connection> {
    const all = new Map(this.listed);
    for (const id of this.#found.keys()) {
      const connection = this.#kept(id)?.connection;
      if (connection !== undefined) all.set(id, connection);
    }
    return all;
  }

  /** Whether an id is of a connection that there is, or may be. */
  mayHave(id: string): boolean {
    return this.listed.has(id) || this.sources.some(({ matches }) => matches(id));
  }

  /** Whom a connection shares bounds with: a listed one with nobody, others with those of their route. */
  peersOf(id: string): string {
    return this.listed.has(id) ? id : (this.sources.find(({ matches }) => matches(id))?.route ?? id);
  }

  /** Whether some connections cannot be listed. */
  get isOpen(): boolean {
    return this.sources.length > 0;
  }

  /**
   * Gives the connection of an id, and asks for it where it is not at hand. Rejects with
   * CONNECTION_UNAVAILABLE where that cannot be told now, and with OVERLOADED where too many are asked for.
   */
  find(id: string): Connection | undefined | Promise<Connection | undefined> {
    const listed = this.listed.get(id);
    if (listed !== undefined) return listed;
    const source = this.sources.find(({ matches }) => matches(id));
    if (source === undefined) return undefined;
    const kept = this.#kept(id);
    if (kept !== undefined) return kept.connection;
    const known = this.#finding.get(id);
    if (known !== undefined) return known;
    const { findsMax } = this.#options.limits;
    if (this.#finding.size >= findsMax) {
      const message = `Cannot find the connection: ${findsMax} are being asked for; send it again later`;
      return Promise.reject(new CounterfoilError("OVERLOADED", message));
    }
    const finding = this.#ask(source, id).finally(() => void this.#finding.delete(id));
    this.#finding.set(id, finding);
    return finding;
  }

  /**
   * Finds what something is due of and what is not at hand, as far as it can be told now: a page of ids at
   * each call, and another the next time, so that those which are gone keep no others waiting.
   */
  async prepareDue(
    due: (page: { readonly except: readonly string[]; readonly after: string }) => Promise<readonly string[]>,
    limit: number,
  ): Promise<void> {
    if (!this.isOpen) return;
    const ids = await due({ except: [...this.atHand().keys()], after: this.#preparedTo });
    this.#preparedTo = ids.length < limit ? "" : (ids.at(-1) ?? "");
    await Promise.allSettled(ids.map(async (id) => this.find(id)));
  }

  #kept(id: string): Kept | undefined {
    const kept = this.#found.get(id) ?? this.#missing.get(id);
    return kept !== undefined && kept.untilMs > this.#options.clock.monotonicMs() ? kept : undefined;
  }

  async #ask(source: ConnectionSource, id: string): Promise<Connection | undefined> {
    try {
      const { connectionMs, noConnectionMs } = this.#options.limits;
      const connection = (await this.#inTime(source, id)) ?? undefined;
      if (connection !== undefined) await this.#assertSameTenant(connection);
      this.#keep(id, connection, connection === undefined ? noConnectionMs : connectionMs);
      return connection;
    } catch (error) {
      throw hasCode(error, "CONNECTION_UNAVAILABLE") ? error : unavailable(id, errorSummary(error), error);
    }
  }

  async #inTime(source: ConnectionSource, id: string): Promise<Connection | null> {
    const { limits, clock } = this.#options;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const leaving = new AbortController();
    const cancel = clock.timer(limits.findMs, () => {
      leaving.abort();
      reject(unavailable(id, `it took more than ${limits.findMs} ms`));
    });
    try {
      return await Promise.race([source.find(id, leaving.signal), late]);
    } finally {
      cancel();
    }
  }

  /** Whose an id is never changes: its receipts, keys and snapshots are that tenant's. */
  async #assertSameTenant({ id, tenant }: Connection): Promise<void> {
    if (typeof tenant !== "string") return;
    const last = this.#found.get(id)?.connection?.tenant;
    const before = typeof last === "string" ? last : await this.tenantBefore(id);
    if (before === undefined || before === tenant) return;
    throw unavailable(id, "it came back with another tenant than its events have; give it an id of its own");
  }

  #keep(id: string, connection: Connection | undefined, keptMs: number): void {
    const { limits, clock } = this.#options;
    this.#found.delete(id);
    this.#missing.delete(id);
    const kept = connection === undefined ? this.#missing : this.#found;
    kept.set(id, { connection, untilMs: clock.monotonicMs() + keptMs });
    for (const [oldest] of kept) {
      if (kept.size <= limits.connectionsKept) break;
      kept.delete(oldest);
    }
  }
}

function unavailable(id: string, problem: string, cause?: unknown): CounterfoilError {
  return new CounterfoilError("CONNECTION_UNAVAILABLE", `Cannot find connection "${id}": ${problem}`, { cause });
}
