/**
 * An outbox at work: a real database, a real provider, and as many processes' worth of engine on it as a
 * test wants. Time is a virtual clock, so that leases, keys and backoff pass when a test says so.
 */
import type { Clock } from "../../src/domain/clock.ts";
import { effect, type Effect, type EffectDefinition, type EffectOptions, type Owed } from "../../src/domain/effect.ts";
import { type Limits, withLimits } from "../../src/domain/limits.ts";
import type { Obligation } from "../../src/domain/obligation.ts";
import { type } from "../../src/domain/schema.ts";
import type { TelemetryEvent } from "../../src/domain/telemetry.ts";
import type { ObligationDetail } from "../../src/store/reader.ts";
import type { TransactionOptions } from "../../src/store/store.ts";
import { type FakeProvider, type FakeProviderOptions, startFakeProvider } from "../../src/testing/fake-provider.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { Runtime } from "../../src/work/runtime.ts";
import { transact } from "../../src/work/transact.ts";
import { runUnit } from "../../src/work/unit.ts";
import { Wake } from "../../src/work/wake.ts";
import { Worker, type WorkerOptions } from "../../src/worker/worker.ts";
import { storeAt, type TemporaryDatabase, temporaryDatabase } from "../support/engine.ts";
import { wrappedStore } from "../support/wrapped-store.ts";

export const tenant = "acme";

// Aliases rather than interfaces, since JSON values have an index signature.
export type Order = { readonly order: string };
export type Shipment = { readonly id: string };
type Shipments = { readonly shipments: readonly Shipment[] };

export type ShipOptions = Partial<EffectOptions<Order, Shipment, Shipments>>;

type Wish = Pick<Owed<Order>, "orderKey" | "notBefore">;

/** One process's worth of engine on the database. */
export interface Desk {
  readonly runtime: Runtime;
  readonly worker: Worker;
  readonly events: TelemetryEvent[];
  /** Owes an order's shipment in a transaction of the application's. */
  owe(order: string, effectOf?: Effect<Order>, wish?: Wish): Promise<void>;
  /** Does all that is due now and comes back. */
  work(): Promise<void>;
  see(order: string): Promise<ObligationDetail>;
  state(order: string): Promise<Obligation["state"]>;
  kinds(): readonly TelemetryEvent["kind"][];
}

export interface OfficeOptions {
  readonly provider?: FakeProviderOptions;
  readonly limits?: Partial<Limits>;
}

export interface DeskOptions extends WorkerOptions {
  readonly effects?: readonly Effect<Order>[];
  readonly clock?: Clock;
  /** What the server's clock shows, where a server has it; by its own clock unless given. */
  readonly serverMs?: () => number;
  readonly limits?: Partial<Limits>;
  /** Another database than the office's own, such as a copy of it. */
  readonly database?: TemporaryDatabase;
  /** Awaited before each transaction of the worker's. */
  readonly beforeTransaction?: () => Promise<void>;
  /** Awaited at the end of the body of each; for engines whose bodies may wait for something else. */
  readonly beforeCommit?: (how: TransactionOptions) => Promise<void>;
  /** Runs each transaction of the worker's. */
  readonly aroundTransaction?: <T>(run: () => Promise<T>, how: TransactionOptions) => Promise<T>;
  /** Hears each event right when it is told. */
  readonly onEvent?: (event: TelemetryEvent) => void;
}

export class Office implements AsyncDisposable {
  readonly clock: VirtualClock = new VirtualClock();
  readonly provider: FakeProvider;
  readonly database: TemporaryDatabase;
  readonly ship: Effect<Order>;
  readonly #limits: Partial<Limits>;
  readonly #close: (() => Promise<void>)[] = [];

  constructor(parts: Pick<Office, "provider" | "database">, limits: Partial<Limits>) {
    this.provider = parts.provider;
    this.database = parts.database;
    this.#limits = limits;
    this.ship = this.effect();
  }

  /** A shipment effect at the provider, as declared unless a test says otherwise. */
  effect(options: ShipOptions = {}, name: `${string}/v${number}` = "ship/v1"): Effect<Order> {
    const { url } = this.provider;
    return effect<Order, Shipment, Shipments>(name, {
      input: type<Order>(),
      answer: shipmentSchema,
      request: ({ input, key }) => ({ method: "POST", url: `${url}/v1/shipments`, json: { ...input, ref: key } }),
      idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
      allow: [url],
      ...options,
    });
  }

  /** The provider's own way to tell what it did. */
  get lookup(): NonNullable<ShipOptions["lookup"]> {
    return {
      get: ({ key }) => `${this.provider.url}/v1/shipments?ref=${encodeURIComponent(key)}`,
      found: ({ shipments }) => shipments[0],
    };
  }

  /** Opens the database as another process would. */
  async desk(options: DeskOptions = {}): Promise<Desk> {
    const { effects = [this.ship], clock = this.clock, serverMs, limits, onEvent } = options;
    const { beforeTransaction, beforeCommit, aroundTransaction = (run) => run() } = options;
    const { database = this.database } = options;
    const real = storeAt(database.address, { clock, serverMs });
    const store = wrappedStore(real, async (body, how) => {
      await beforeTransaction?.();
      const whole: typeof body = async (tx) => {
        const value = await body(tx);
        await beforeCommit?.(how);
        return value;
      };
      return aroundTransaction(() => real.transaction(beforeCommit ? whole : body, how), how);
    });
    await store.migrate();
    await store.open();
    const events: TelemetryEvent[] = [];
    const runtime: Runtime = {
      store,
      limits: withLimits({ ...this.#limits, ...limits }),
      clock,
      random: () => 0,
      emit: (event) => {
        events.push(event);
        onEvent?.(event);
      },
      wake: new Wake(),
      resources: new Map(),
      effects: new Map(
        effects.flatMap(({ name, definition }): [string, EffectDefinition][] =>
          [name, ...(definition.aliases ?? [])].map((each) => [each, definition]),
        ),
      ),
    };
    const worker = new Worker(runtime, options);
    this.#close.push(async () => {
      await worker.stop({ graceMs: 0 });
      await store.close();
    });
    const see = async (order: string): Promise<ObligationDetail> => {
      const detail = await store.reader.obligation(tenant, `${order}/fulfil/v1`);
      if (detail === undefined) throw new Error(`Cannot see order ${order}: nothing is owed for it`);
      return detail;
    };
    return {
      runtime,
      worker,
      events,
      owe: (order, effectOf = effects[0] ?? this.ship, wish = {}) => owe(runtime, effectOf, { order, ...wish }),
      work: () => worker.drain({ graceMs: 60_000 }),
      see,
      state: async (order) => (await see(order)).obligation.state,
      kinds: () => events.map(({ kind }) => kind),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#close) await close();
    await this.provider.close();
    await this.database[Symbol.asyncDispose]();
  }
}

export async function openOffice({ provider, limits = {} }: OfficeOptions = {}): Promise<Office> {
  return new Office({ provider: await startFakeProvider(provider), database: await temporaryDatabase() }, limits);
}

async function owe(
  runtime: Runtime,
  owed: Effect<Order>,
  { order, ...wish }: Wish & { readonly order: string },
): Promise<void> {
  const scope = { tenant, connection: "", account: "", receiptId: null };
  await transact(runtime, (tx, signals) =>
    runUnit(tx, { scope, runtime, signals }, (work) =>
      work.owe(owed, { key: [order, "fulfil", "v1"], input: { order }, ...wish }),
    ),
  );
}

/** A schema that refuses an answer without an id. */
const shipmentSchema = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: unknown) =>
      typeof value === "object" && value !== null && "id" in value && typeof value.id === "string"
        ? { value }
        : { issues: [{ message: "no id", path: ["id"] }] },
  },
} as const;
