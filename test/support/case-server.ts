/** An application of a test's own connections and tables, receiving on a real port over a database of its own. */
import { type App, type AppOptions, defineApp, type TelemetryEvent } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";
import { onTestFinished } from "vitest";
import type { Clock } from "../../src/domain/clock.ts";
import type { Probe } from "../../src/domain/probe.ts";
import type { ReceiptFilter } from "../../src/store/reader.ts";
import { rawExchange } from "../../src/testing/raw-http.ts";
import { storeAt, type TemporaryDatabase } from "./engine.ts";
import { rows } from "./order-app.ts";
import { ownDatabase } from "./own-database.ts";

export { careless, caseSecret, sender, signedBytes, signedEvent } from "./case-delivery.ts";

export interface CaseOptions extends Partial<Omit<AppOptions, "store" | "testing" | "telemetry">> {
  readonly clock?: Clock;
  readonly probe?: Probe;
  /** Statements that make the test's own tables. */
  readonly tables?: readonly string[];
  /** Of another server, to go on with its database. */
  readonly database?: TemporaryDatabase;
}

/** What a sender is told. */
export interface Told {
  readonly status: number;
  readonly outcome?: string;
  readonly first?: string;
  readonly mismatch?: boolean;
  readonly event?: string;
  readonly error?: string;
}

export interface CaseServer {
  readonly app: App;
  readonly database: TemporaryDatabase;
  readonly port: number;
  /** Everything that the application said of itself. */
  readonly events: readonly TelemetryEvent[];
  readonly post: (delivery: SignedDelivery, connection?: string) => Promise<Told>;
  /** Each receipt's event id and outcome, in order of arrival. */
  readonly outcomes: (filter?: ReceiptFilter) => Promise<readonly string[]>;
  readonly rows: (text: string) => Promise<readonly object[]>;
  /** Operation keys that are owed, with their tenant. */
  readonly owed: () => Promise<readonly string[]>;
}

/** Starts a server that ends with its test. */
export async function startCase(options: CaseOptions): Promise<CaseServer> {
  const { clock, probe, database: given, tables = [], connections = [], effects = [], ...more } = options;
  const database = given ?? (await ownDatabase());
  const events: TelemetryEvent[] = [];
  const app = defineApp({
    ...more,
    store: storeAt(database.address, { clock, probe }),
    connections,
    effects,
    telemetry: (event) => void events.push(event),
    testing: { ...(clock && { clock }), ...(probe && { probe }) },
  });
  await app.open();
  onTestFinished(() => app.stop());
  for (const table of tables) await rows(app, table);
  const { port } = await app.listen({ port: 0 });
  const { reader } = app.runtime.store;
  return {
    app,
    database,
    port,
    events,
    post: (delivery, connection = "sender") => post(port, connection, delivery),
    outcomes: async (filter = {}) =>
      (await reader.receipts(filter, { limit: 1_000 }))
        .map(({ eventId, outcome }) => `${eventId} ${outcome}`)
        .toReversed(),
    rows: (text) => rows(app, text),
    owed: async () =>
      (await reader.obligations({}, { limit: 1_000 }))
        .map(({ tenant, operationKey }) => `${tenant}/${operationKey}`)
        .sort(),
  };
}

async function post(port: number, connection: string, { headers, body }: SignedDelivery): Promise<Told> {
  const answer = await rawExchange(port, { path: `/hooks/${connection}`, headers: Object.entries(headers), body });
  return { status: answer.status, ...(JSON.parse(answer.body.toString()) as object) };
}
