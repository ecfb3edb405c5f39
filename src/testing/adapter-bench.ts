import { randomUUID } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import type { App } from "../app/app.ts";
import { connect } from "../app/connect.ts";
import { defineApp } from "../app/define-app.ts";
import type { DeliveryInput } from "../app/own-work.ts";
import type { OwnTransaction } from "../app/within.ts";
import { type Effect, effect } from "../domain/effect.ts";
import type { Handle, HandlerContext } from "../domain/handler.ts";
import { type Resource, resource } from "../domain/resource.ts";
import { type } from "../domain/schema.ts";
import { standardWebhooks } from "../providers/standard-webhooks.ts";
import type { AdapterSubject } from "./adapter-subject.ts";

/** One thing that an adapter has to do. */
export type AdapterCase = (bench: AdapterBench) => Promise<void>;

/** An effect to owe; nothing is called, since no worker is started. */
export const parcel: Effect<{ readonly to: string }> = effect("exercise-parcel/v1", {
  input: type<{ readonly to: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://carrier.example/v1/parcels", json: input }),
  idempotency: "none",
});

/** A kind of thing to keep snapshots of. */
export const thing: Resource<{ readonly name: string }> = resource("exercise-thing", {
  state: type<{ readonly name: string }>(),
});

const secrets = ["whsec_Y291bnRlcmZvaWwgYWRhcHRlciBleGVyY2lzZQ=="];

/** An application on the subject's store, with names that no other case uses. */
export class AdapterBench implements AsyncDisposable {
  readonly subject: AdapterSubject;
  readonly app: App;
  /** Names of this case begin with it. */
  readonly id: string = randomUUID();
  /** What the handlers of both connections do; a case may set another. */
  handle: Handle<HandlerContext["event"]> = () => undefined;

  private constructor(subject: AdapterSubject) {
    this.subject = subject;
    const handlers = [standardWebhooks.on("exercise", (context) => this.handle(context))];
    const of = (id: string, tenant: string) => connect(id, { provider: standardWebhooks, secrets, tenant, handlers });
    this.app = defineApp({
      store: subject.store,
      connections: [of("exercise-a", "acme"), of("exercise-g", "globex")],
      effects: [parcel],
      limits: { lockMs: 5_000, queueMs: 4_000 },
    });
  }

  static async on(subject: AdapterSubject): Promise<AdapterBench> {
    const bench = new AdapterBench(subject);
    await bench.app.open();
    await bench.app.transaction({ tenant: "acme" }, async ({ tx }) => {
      await tx.sql`CREATE TABLE IF NOT EXISTS counterfoil_exercise (id text PRIMARY KEY, note text)`;
    });
    return bench;
  }

  /** A signed delivery of an event of this case. */
  delivery(event: string, connection = "exercise-a"): DeliveryInput {
    const body = new TextEncoder().encode(JSON.stringify({ type: "exercise", data: { id: event } }));
    return this.app.trialDelivery(connection, { id: `${this.id}-${event}`, body });
  }

  /** Writes a row by the tool itself, beside what Counterfoil does. */
  async note(transaction: OwnTransaction, id: string): Promise<void> {
    await run(transaction, `INSERT INTO counterfoil_exercise (id) VALUES ('${this.id}-${id}')`);
  }

  /** What is committed of `note`. */
  async notes(): Promise<readonly string[]> {
    const rows = await this.app.transaction(
      { tenant: "acme" },
      ({ tx }) =>
        tx.sql<{ id: string }>`SELECT id FROM counterfoil_exercise WHERE id LIKE ${`${this.id}-%`} ORDER BY id`,
    );
    return rows.map(({ id }) => id.slice(this.id.length + 1));
  }

  /** Operation keys of this case that are owed, by tenant. */
  async owed(tenant = "acme"): Promise<readonly string[]> {
    const owed = await this.app.operator({ who: "exercise" }).obligations({ tenant, keyPrefix: this.id });
    return owed.map(({ operationKey }) => operationKey.slice(this.id.length + 1)).toSorted();
  }

  /** The outcome that is kept of an event of this case. */
  async outcome(event: string, connection = "exercise-a"): Promise<string | undefined> {
    const filter = { connection, eventId: `${this.id}-${event}` };
    const [receipt] = await this.app.operator({ who: "exercise" }).receipts(filter);
    return receipt?.outcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.stop();
  }
}

/** Runs a statement without values by the tool. */
export async function run(transaction: OwnTransaction, text: string): Promise<void> {
  if (transaction instanceof DatabaseSync) {
    transaction.exec(text);
    return;
  }
  const parts = Object.assign([text], { raw: [text] });
  const types = { getTypeParser: () => String };
  await transaction.query({ text, parts, values: [], returnsRows: text.startsWith("SELECT"), types });
}

/** What undoes a transaction on purpose. */
export class Undo extends Error {}

/** Resolves with the error that a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("It resolved, where it was to reject");
    },
    (error: unknown) => error,
  );
}
