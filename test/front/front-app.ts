/** What the tests of the HTTP thread receive with: senders that sign, a table of what was applied, and handlers that misbehave. */
import { existsSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { type App, connect, connectEach, defineApp, type Emit, type Limits, type Store, type } from "counterfoil";
import { bundled, careless, caseSecret, posted, sender, zipped } from "../support/case-delivery.ts";
import { storeAt } from "../support/engine.ts";
import { patient } from "../support/patient.ts";
import { replacing } from "../support/wrapped-store.ts";

export interface FrontAppOptions {
  readonly address: string;
  readonly secret?: string;
  readonly limits?: Partial<Limits>;
  readonly telemetry?: Emit;
  /** Ids of further connections of the sender. */
  readonly more?: readonly string[];
  /** Whether its store may be opened. */
  readonly opens?: boolean;
}

const cell = new Int32Array(new SharedArrayBuffer(4));

export function frontApp({
  address,
  secret = caseSecret,
  limits,
  telemetry,
  more = [],
  opens = isMainThread,
}: FrontAppOptions): App {
  const changed = sender.on("changed", ({ event, tx }) =>
    tx.sql`INSERT INTO applied (event) VALUES (${event.id})`.then(),
  );
  // As a handler that reckons for long: its thread does nothing else until the file is there.
  const blocking = sender.on("blocking", type<{ until: string }>(), ({ event }) => {
    while (!existsSync(event.data.until)) Atomics.wait(cell, 0, 0, 10);
  });
  const failing = sender.on("failing", () => {
    throw new Error("canary-in-the-exception");
  });
  const handlers = [changed, blocking, failing];
  const common = { secrets: [secret], tenant: "acme" } as const;
  const encoded = [zipped, posted, bundled].map((provider) =>
    connect(provider.name, { ...common, provider, handlers: [{ ...changed, provider: provider.name }] }),
  );
  return defineApp({
    store: opens ? storeAt(address) : unopened(storeAt(address)),
    connections: [
      ...["sender", ...more].map((id) => connect(id, { ...common, provider: sender, handlers })),
      ...encoded,
      connectEach("shops/:shop", ({ shop = "" }) => {
        if (shop === "broken") throw new Error("canary-in-the-function");
        return shop === "acme" ? { ...common, provider: sender, handlers } : null;
      }),
      connect("strict", { ...common, provider: sender, handlers, failing: "refuse" }),
      connect("careless", {
        ...common,
        provider: patient(careless),
        handlers: [careless.on("changed", () => undefined)],
      }),
    ],
    effects: [],
    ...(limits && { limits }),
    ...(telemetry && { telemetry }),
  });
}

/** The HTTP thread opens no database. */
function unopened(store: Store): Store {
  return replacing(store, { open: () => Promise.reject(new Error("Cannot open the store: this is the HTTP thread")) });
}

export async function createTables(app: App): Promise<void> {
  await app.transaction({ tenant: "acme" }, async ({ tx }) => {
    await tx.sql`CREATE TABLE IF NOT EXISTS applied (event TEXT)`;
  });
}
