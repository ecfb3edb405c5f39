/** An application on a database, and transactions of `pg` beside it, for the tests of app.within. */

import {
  type App,
  connect,
  defineApp,
  type Effect,
  effect,
  type Handle,
  type HandlerContext,
  type,
  type WorkContext,
} from "counterfoil";
import { fromPg } from "counterfoil/adapters";
import { standardWebhooks } from "counterfoil/providers";
import { type FakeProvider, startFakeProvider } from "counterfoil/testing";
import { Client } from "pg";
import { onTestFinished } from "vitest";
import { storeAt } from "../support/engine.ts";
import { postgresDatabase } from "../support/postgres-database.ts";
import { ask } from "../support/postgres-query.ts";

/** An effect that books a parcel with a carrier. */
function parcelBy(carrier: string): Effect<{ readonly to: string }> {
  return effect("parcel/v1", {
    input: type<{ readonly to: string }>(),
    request: ({ input, key }) => ({ method: "POST", url: `${carrier}/v1/shipments`, json: { ...input, ref: key } }),
    idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
    allow: [carrier],
  });
}

export interface OwnTransactions {
  readonly url: string;
  readonly app: App;
  readonly carrier: FakeProvider;
  readonly parcel: Effect<{ readonly to: string }>;
  /** What the handler of "order" events does. */
  handle: Handle<HandlerContext["event"]>;
  /** A client with a transaction begun on it. */
  readonly begun: (begin?: string) => Promise<Client>;
  /** Works in a client's transaction, for acme. */
  readonly work: <T>(client: Client, body: (context: WorkContext) => Promise<T> | T) => Promise<T>;
  readonly receive: (client: Client, id: string) => ReturnType<App["receive"]>;
  readonly owed: () => Promise<readonly string[]>;
}

const secrets = ["whsec_Y291bnRlcmZvaWwgb3duIHRyYW5zYWN0aW9ucw=="];

/** With a table `orders (id, status)`; everything ends with the test. */
export async function ownTransactions(
  limits: { readonly lockMs?: number; readonly handlerMs?: number } = {},
): Promise<OwnTransactions> {
  const database = await postgresDatabase();
  const { address: url } = database;
  await ask(url, "CREATE TABLE orders (id text PRIMARY KEY, status text)");
  const carrier = await startFakeProvider();
  const parcel = parcelBy(carrier.url);
  const handlers = [standardWebhooks.on("order", (context) => own.handle(context))];
  const app = defineApp({
    store: storeAt(url),
    connections: [connect("shop", { provider: standardWebhooks, secrets, tenant: "acme", handlers })],
    effects: [parcel],
    limits,
  });
  const clients: Client[] = [];
  onTestFinished(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await app.stop();
    await carrier[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  const own: OwnTransactions = {
    url,
    app,
    carrier,
    parcel,
    handle: () => undefined,
    begun: async (begin = "BEGIN") => {
      const client = new Client(url);
      clients.push(client);
      client.on("error", () => undefined);
      await client.connect();
      await client.query(begin);
      return client;
    },
    work: (client, body) => app.within(fromPg(client)).run({ tenant: "acme", connection: "shop" }, body),
    receive: (client, id) => {
      const body = new TextEncoder().encode(JSON.stringify({ type: "order", data: { id } }));
      return app.within(fromPg(client)).receive("shop", app.trialDelivery("shop", { id, body }));
    },
    owed: async () =>
      (await app.operator({ who: "test" }).obligations()).map(({ operationKey }) => operationKey).toSorted(),
  };
  await app.open();
  return own;
}
