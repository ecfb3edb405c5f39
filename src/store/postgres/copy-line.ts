/** The one connection of a copy, and its transactions: few and large, and none without an end. */
import { CounterfoilError } from "../../domain/errors.ts";
import type { Probe } from "../../domain/probe.ts";
import { copySetting } from "./copy-fence.ts";
import {
  createClient,
  type DriverClient,
  type DriverNotice,
  type DriverQuery,
  type DriverResult,
  type DriverSettings,
} from "./driver.ts";
import { coded, type Doing, storeError } from "./errors.ts";
import type { ReadHandle } from "./handle.ts";
import { inSchema } from "./statements.ts";
import { readTypes } from "./values.ts";

export interface CopyLineOptions {
  readonly settings: DriverSettings;
  readonly schema: string;
  readonly probe?: Probe | undefined;
}

/** What the parts of a copy work with: one transaction. */
export interface CopyHandle extends ReadHandle {
  /** Rows as arrays of their values. */
  readonly rows: (text: string, values: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>;
}

const connectMs = 10_000;
/** Longest wait for each lock. */
const lockMs = 30_000;
/** Longest time of a statement: the largest counts a whole table. */
const statementMs = 600_000;

/** Everything is set for the transaction alone, as a pooler in between needs it. */
const settings = `SELECT set_config($1, $2, true), set_config('lock_timeout', '${lockMs}', true),
  set_config('statement_timeout', '${statementMs}', true), set_config('idle_in_transaction_session_timeout', '60000', true),
  CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END,
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;

export class CopyLine {
  readonly #options: CopyLineOptions;
  #client: Promise<DriverClient> | undefined;

  constructor(options: CopyLineOptions) {
    this.#options = options;
  }

  async close(): Promise<void> {
    await this.#client?.then(
      (client) => client.end(),
      () => undefined,
    );
  }

  /** Runs a body in a transaction of this copy; its name is of the step, for crash points. */
  async transaction<T>(
    { name, id }: { readonly name: string; readonly id: string },
    body: (handle: CopyHandle) => Promise<T>,
  ): Promise<T> {
    const client = await this.#connected();
    try {
      await this.#send(client, { text: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE" }, "begin");
      const { rows } = await this.#send(client, { text: settings, values: [copySetting, id] }, "begin");
      const value = await body(this.#handleOf(client, Number(rows[0]?.["now"])));
      this.#options.probe?.(`copy.target.${name}:before`);
      await this.#commit(client);
      this.#options.probe?.(`copy.target.${name}:after`);
      return value;
    } catch (error) {
      // Where this fails as well, the transaction has ended with its connection.
      await client.query({ text: "ROLLBACK" }).catch(() => undefined);
      throw error;
    }
  }

  /** A wait for a replica that was cut short is told as a warning: what was committed may be lost with this server. */
  async #commit(client: DriverClient): Promise<void> {
    let warned = false;
    const onNotice = ({ severity }: DriverNotice): void => void (warned ||= severity === "WARNING");
    client.on("notice", onNotice);
    try {
      const { command } = await this.#send(client, { text: "COMMIT" }, "commit");
      if (command !== "COMMIT") throw coded("COMMIT_REFUSED", { doing: "commit", what: `it was a ${command}` });
      if (warned) throw coded("COMMIT_UNKNOWN", { doing: "commit", what: "a replica may lack it" });
    } finally {
      client.removeListener("notice", onNotice);
    }
  }

  #connected(): Promise<DriverClient> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<DriverClient> {
    const client = createClient(this.#options.settings, { connectMs });
    client.on("error", () => undefined);
    try {
      await client.connect();
      return client;
    } catch (cause) {
      const message = "Cannot copy: the server cannot be reached; check address, credentials and network";
      throw new CounterfoilError("STORE_UNAVAILABLE", message, { cause });
    }
  }

  #handleOf(client: DriverClient, now: number): CopyHandle {
    const { schema } = this.#options;
    const ask = async (query: DriverQuery): Promise<readonly unknown[]> => {
      const text = inSchema(query.text, schema);
      return (await this.#send(client, { types: readTypes, ...query, text }, "statement")).rows;
    };
    return {
      run: async <Row>({ text }: { readonly text: string }, values: readonly unknown[]) =>
        (await ask({ text, values })) as readonly Row[],
      runText: async <Row>(text: string, values: readonly unknown[]) => (await ask({ text, values })) as readonly Row[],
      rows: async (text, values) =>
        (await ask({ text, values, rowMode: "array" })) as unknown as readonly (readonly unknown[])[],
      now,
    };
  }

  async #send(client: DriverClient, query: DriverQuery, doing: Doing): Promise<DriverResult> {
    // The server's own timeout does not bound a network that swallows packets, nor a wait for a replica.
    const timer = setTimeout(() => client.connection.stream.destroy(), statementMs + connectMs);
    try {
      return await client.query(query);
    } catch (error) {
      throw storeError(error, doing);
    } finally {
      clearTimeout(timer);
    }
  }
}
