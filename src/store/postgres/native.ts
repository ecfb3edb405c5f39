/**
 * The driver's handle as users and their ORMs may hold it: what they use of a `pg` client or pool, except
 * that it cannot end the engine's transaction, cannot be closed, and is dead once its scope has ended.
 *
 * An ORM's BEGIN, COMMIT and ROLLBACK become savepoints of the engine's own naming, and so do its
 * savepoints, so that a ROLLBACK undoes what the ORM began and nothing more. A failed statement poisons
 * the handle: only rolling back to a savepoint that was set before the failure makes it usable again.
 */
import { CounterfoilError } from "../../domain/errors.ts";
import type { DriverQuery, DriverResult } from "./driver.ts";
import { type Control, controls, parseControl } from "./parse-control.ts";

export interface NativeScope {
  /** Sends a statement; throws where the scope has ended or failed. */
  readonly send: (query: DriverQuery) => Promise<DriverResult>;
  /** Tells that the scope must not be kept, unless what failed is undone. */
  readonly failed: (error: unknown) => void;
  /** Tells that what failed is being undone. */
  readonly mended: () => void;
}

/** A statement as users of `pg` write it. */
type NativeQuery = string | (DriverQuery & { readonly name?: string });

/** What users hold. */
export interface NativeClient {
  query(query: NativeQuery, values?: readonly unknown[]): Promise<DriverResult>;
  /** Gives this handle, so that it stands in for a pool as well. */
  connect(): Promise<NativeClient>;
  /** Does nothing: the connection is the engine's. */
  release(): void;
}

export class NativeHandle {
  readonly #scope: NativeScope;
  /** Transactions and savepoints that the user began: names as given, `null` for BEGIN, innermost last. */
  readonly #open: (string | null)[] = [];
  /** How many savepoints were open when the first failure that is not undone was sent. */
  #failedAt: number | undefined;
  readonly client: NativeClient;

  constructor(scope: NativeScope) {
    this.#scope = scope;
    const client: NativeClient = {
      query: async (query, values) => this.#query(query, values),
      connect: async () => client,
      release: () => undefined,
    };
    this.client = client;
  }

  /** Throws where what was done through the handle must not be kept. */
  assertSettled(): void {
    if (this.#open.length > 0) throw refused("keep the work of a handler: it began a transaction and did not end it");
  }

  #query(given: NativeQuery, values?: readonly unknown[]): Promise<DriverResult> {
    const { text, rowMode, types, values: own } = typeof given === "string" ? { text: given } : (given as DriverQuery);
    if (typeof text !== "string" || typeof values === "function") {
      throw new TypeError("Cannot run a query on the native handle: give a text, or an object with one, and await it");
    }
    const control = parseControl(text);
    if (control) return this.#control(control);
    if (controls(text)) this.#refuse("run a statement that controls the transaction or the connection");
    // No names: what is prepared would stay on a connection that others use after this.
    return this.#send({ text, values: values ?? own, rowMode, types, queryMode: "extended" });
  }

  async #send(query: DriverQuery): Promise<DriverResult> {
    const depth = this.#open.length;
    try {
      return await this.#scope.send(query);
    } catch (error) {
      this.#failedAt ??= depth;
      throw error;
    }
  }

  async #control({ kind, name }: Control): Promise<DriverResult> {
    await this.#send({ text: kind === "begin" || kind === "savepoint" ? this.#begin(name) : this.#end(kind, name) });
    return { command: kind.replace("-to", "").toUpperCase(), rowCount: null, rows: [] };
  }

  #begin(name: string | null): string {
    this.#open.push(name);
    return `SAVEPOINT ${savepointName(this.#open.length)}`;
  }

  #end(kind: "release" | "rollback" | "rollback-to", name: string | null): string {
    const at = this.#open.lastIndexOf(name);
    const verb = name === null && kind === "release" ? "commit" : kind;
    if (at < 0) this.#refuse(`${verb} what was not begun through the native handle`);
    this.#open.length = kind === "rollback-to" ? at + 1 : at;
    const savepoint = savepointName(at + 1);
    if (kind === "release") return `RELEASE ${savepoint}`;
    if (this.#failedAt !== undefined && at < this.#failedAt) {
      this.#failedAt = undefined;
      this.#scope.mended();
    }
    return `ROLLBACK TO ${savepoint}${kind === "rollback" ? `; RELEASE ${savepoint}` : ""}`;
  }

  #refuse(what: string): never {
    const error = refused(what);
    this.#scope.failed(error);
    this.#failedAt ??= this.#open.length;
    throw error;
  }
}

function savepointName(depth: number): string {
  return `counterfoil_native_${depth}`;
}

function refused(what: string): CounterfoilError {
  return new CounterfoilError(
    "TRANSACTION_CONTROL",
    `Cannot ${what}: the engine owns the transaction and the connection; end on the handle what was begun on it, and nothing else`,
  );
}
