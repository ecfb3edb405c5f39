/** The application: one configuration put to work. Composition only; what it does stands in the folders below. */
import { MessageChannel } from "node:worker_threads";
import { type Duration, durationMs } from "../domain/duration.ts";
import { CounterfoilError, hasCode } from "../domain/errors.ts";
import type { Finding } from "../domain/finding.ts";
import type { WorkContext } from "../domain/handler.ts";
import type { Emit } from "../domain/telemetry.ts";
import { type Engine, listenInThread } from "../front/listen-in-thread.ts";
import { Gate } from "../http/gate.ts";
import { Hooks } from "../http/hooks.ts";
import { type FastifyPlugin, mountFastify } from "../http/mount-fastify.ts";
import { type FetchHandler, mountFetch } from "../http/mount-fetch.ts";
import { type LambdaHandler, mountLambda } from "../http/mount-lambda.ts";
import { mountNode, type NodeHandler } from "../http/mount-node.ts";
import { type HealthChecks, type Listening, serve, type Served } from "../http/serve.ts";
import { applyDue } from "../inbox/apply-due.ts";
import type { Received, ReceivedItem } from "../inbox/arrival.ts";
import type { Connections } from "../inbox/connections.ts";
import { expireBytes } from "../inbox/expire-bytes.ts";
import { Inbox } from "../inbox/inbox.ts";
import type { Attention } from "../operator/attention.ts";
import { Notices } from "../operator/notices.ts";
import { Operator } from "../operator/operator.ts";
import { Retention } from "../operator/retention.ts";
import type { SignedDelivery } from "../providers/sample-delivery.ts";
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import { runUnit } from "../work/unit.ts";
import { Worker } from "../worker/worker.ts";
import { secretsOf } from "./connect.ts";
import { examine } from "./doctor.ts";
import {
  connectionAtHand,
  connectionOf,
  type DeliveryInput,
  deliveryOf,
  lastTenant,
  scopeOf,
  type TransactionScope,
} from "./own-work.ts";
import { trialDelivery, type TrialOptions } from "./trial-delivery.ts";
import { type OwnTransaction, type Within, within } from "./within.ts";

/** What a process does: take deliveries in, or carry out what is owed. */
export type Role = "receiver" | "worker";

/** Where an application listens, and for what. */
export interface ListenOptions {
  readonly port: number;
  /** @default "127.0.0.1" */
  readonly host?: string;
  /**
   * Health on a port of its own needs not stand on the public internet beside the hooks.
   *
   * @default "all"
   */
  readonly serves?: Served;
  /**
   * URL of the module whose default export is this application. HTTP and verification then run in a
   * thread of their own, which loads that module once more; the engine and the handlers stay here.
   * The module defines the application and does not start it, or listen, itself.
   */
  readonly thread?: URL;
}

/** An application at work, made by `defineApp`. */
export interface App {
  /**
   * Opens the store and checks its schema, migrating an embedded one. Done by itself on first use; an
   * application that was stopped has to be opened, or started, again.
   */
  open(): Promise<void>;
  /**
   * Starts what this process is to do. A worker carries out obligations and retries events, and keeps
   * the process alive until `stop`; a receiver checks that every connection has its secrets.
   */
  start(options?: { readonly roles?: readonly Role[] }): Promise<void>;
  /** Listens for hooks, health or both on a port of its own; `stop` closes it. */
  listen(options: ListenOptions): Promise<Listening>;
  /** Works off what is due, within the budget: for platforms where nothing may run between requests. */
  drain(options?: { readonly budget?: Duration }): Promise<void>;
  /**
   * Stops cleanly: says it is not ready, keeps serving for `lameDuck` so that a proxy can look elsewhere
   * (none by default), then stops accepting and claiming, answers 503 to what still comes in by hooks
   * that another server mounts, lets what is in flight end within the grace, and closes the store.
   */
  stop(options?: { readonly lameDuck?: Duration }): Promise<void>;
  /** Hooks for node:http, Express and what is built on them. */
  readonly node: NodeHandler;
  /** Hooks for the Fetch standard: Hono, Next.js and others. */
  readonly fetch: FetchHandler;
  /** Hooks as a plug-in of Fastify: `await server.register(app.fastify)`. */
  readonly fastify: FastifyPlugin;
  /** Hooks for AWS Lambda, behind an HTTP API or a function URL: `export const handler = app.lambda`. */
  readonly lambda: LambdaHandler;
  /**
   * Receives one delivery. Rejects when it cannot be verified, stored or applied, and has left nothing then.
   */
  receive(connection: string, delivery: DeliveryInput): Promise<Received>;
  /**
   * Receives one delivery of a sender of batches: what became of each item, in their order. Rejects when
   * the whole cannot be verified or read.
   */
  receiveBatch(connection: string, delivery: DeliveryInput): Promise<readonly ReceivedItem[]>;
  /** The application's own transaction, through the same guards as the webhooks. */
  transaction<T>(scope: TransactionScope, body: (context: WorkContext) => Promise<T> | T): Promise<T>;
  /**
   * Works inside a transaction that you have begun with your own tool and that you end; see docs/transactions.md.
   *
   * @example
   * ```ts no-run
   * await db.transaction(async (tx) => {
   *   await tx.insert(orders).values({ id: "1042", status: "awaiting_payment" });
   *   await app.within(fromDrizzle(tx, sql)).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1042"));
   * });
   * ```
   */
  within(transaction: OwnTransaction): Within;
  /** Makes a delivery as the connection's provider would sign it; await `app.connections.find` of one not listed. */
  trialDelivery(connection: string, options?: TrialOptions): SignedDelivery;
  /** The operator's verbs; each action is audited under this name. */
  operator(options: { readonly who: string }): Operator;
  /** Looks at configuration, secrets, database, clock and disk: what is wrong, and what mends it. */
  doctor(): Promise<readonly Finding[]>;
  /** Adds a subscriber to everything Counterfoil says of itself; the result removes it. */
  subscribe(emit: Emit): () => void;
  /** Who is subscribed, by configuration too. */
  readonly subscribers: ReadonlySet<Emit>;
  /** Whether the loops of this process make progress. */
  live(): boolean;
  /** Whether a transaction can commit now. */
  ready(): Promise<boolean>;
  readonly runtime: Runtime;
  readonly connections: Connections;
  /** Why some connections cannot be served: missing or unusable secrets. */
  readonly problems: readonly string[];
  readonly basePath: string;
}

export interface Parts {
  readonly runtime: Runtime;
  readonly subscribers: Set<Emit>;
  readonly connections: Connections;
  readonly problems: readonly string[];
  readonly basePath: string;
  readonly migrate: boolean;
  /** Hears of what needs a person. */
  readonly onAttention: ((items: readonly Attention[]) => void | Promise<void>) | null;
}

export function buildApp(parts: Parts): App {
  return new CounterfoilApp(parts);
}

/** How old a proof of readiness may be for health checks: each is a durable write, and anyone may ask. */
const proofMs = 1_000;

class CounterfoilApp implements App {
  readonly runtime: Runtime;
  readonly connections: Connections;
  readonly problems: readonly string[];
  readonly basePath: string;
  readonly subscribers: ReadonlySet<Emit>;
  readonly node: NodeHandler;
  readonly fetch: FetchHandler;
  readonly fastify: FastifyPlugin;
  readonly lambda: LambdaHandler;
  readonly #parts: Parts;
  readonly #inbox: Inbox;
  readonly #worker: Worker;
  readonly #gate: Gate = new Gate();
  readonly #listening = new Set<Listening>();
  #opening: Promise<void> | undefined;
  /** Set until the application is opened again. */
  #stopping: Promise<void> | undefined;
  /** A commit that shows whether one is possible; checks at the same time share it. */
  #proving: Promise<void> | undefined;
  #provenAtMs = Number.NEGATIVE_INFINITY;
  /** Timers of the loops keep no process alive; whoever starts a worker wants it to go on. */
  #alive: MessageChannel | undefined;

  constructor(parts: Parts) {
    const { runtime, connections, basePath } = parts;
    this.#parts = parts;
    this.runtime = runtime;
    this.connections = connections;
    this.problems = parts.problems;
    this.basePath = basePath;
    this.subscribers = parts.subscribers;
    const context = { runtime, connections };
    connections.tenantBefore = (id) => this.#opened().then(() => lastTenant(runtime.store, id));
    this.#inbox = new Inbox(context, () => this.#opened());
    const retention = new Retention(runtime);
    const notices = parts.onAttention && new Notices({ runtime, connections }, parts.onAttention);
    this.#worker = new Worker(runtime, {
      ...(notices && { notify: () => notices.run() }),
      applyDue: () => applyDue(context),
      retain: async () => (await expireBytes(runtime)) || retention.run(),
    });
    const hooks = new Hooks({
      connections,
      inbox: this.#inbox,
      gate: this.#gate,
      limits: runtime.limits,
      emit: runtime.emit,
      now: () => runtime.clock.wallMs(),
      basePath,
    });
    this.node = mountNode(hooks, runtime);
    this.fetch = mountFetch(hooks, runtime);
    this.fastify = mountFastify(this.node, basePath);
    this.lambda = mountLambda(hooks);
  }

  async open(): Promise<void> {
    const stopping = this.#stopping;
    if (stopping !== undefined) {
      await stopping;
      if (this.#stopping === stopping) this.#stopping = undefined;
    }
    // A stop that failed has left it closed as well.
    if (this.#stopping === undefined) this.#gate.open();
    await this.#opened();
  }

  /** For what needs the store: opens it on first use, but never again after a stop. */
  #opened(): Promise<void> {
    if (this.#stopping !== undefined && this.#opening === undefined) {
      const message = "Cannot use the application: it was stopped; open or start it again first";
      return Promise.reject(new CounterfoilError("STORE_UNAVAILABLE", message));
    }
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    const { store, limits } = this.runtime;
    try {
      await store.open(limits);
    } catch (error) {
      if (!this.#parts.migrate || !hasCode(error, "SCHEMA_OUTDATED")) throw error;
      await store.migrate();
      await store.open(limits);
    }
  }

  async start({ roles = ["receiver", "worker"] }: { readonly roles?: readonly Role[] } = {}): Promise<void> {
    if (roles.includes("receiver")) this.#assertServable();
    await this.open();
    if (!roles.includes("worker")) return;
    this.#worker.start();
    this.#alive ??= new MessageChannel();
    this.#alive.port1.ref();
  }

  async listen({ port, host = "127.0.0.1", serves = "all", thread }: ListenOptions): Promise<Listening> {
    if (serves !== "health") this.#assertServable();
    await this.open();
    const health = { live: () => this.live(), ready: () => this.#recentlyReady() };
    const listening =
      thread === undefined
        ? await serve({ port, host, serves, limits: this.runtime.limits, hooks: this.node, health })
        : await listenInThread({ port, host, serves, configuration: thread.href }, this.#engine(health));
    this.#listening.add(listening);
    return listening;
  }

  #engine(health: HealthChecks): Engine {
    return { connections: this.connections, inbox: this.#inbox, gate: this.#gate, health, emit: this.runtime.emit };
  }

  async drain({ budget = "10s" }: { readonly budget?: Duration } = {}): Promise<void> {
    await this.#opened();
    await this.#worker.drain({ graceMs: durationMs(budget) });
  }

  async stop({ lameDuck = "0s" }: { readonly lameDuck?: Duration } = {}): Promise<void> {
    const waitMs = durationMs(lameDuck);
    this.#stopping ??= this.#stop(waitMs).catch((error: unknown) => {
      this.#stopping = undefined;
      throw error;
    });
    await this.#stopping;
  }

  async #stop(lameDuckMs: number): Promise<void> {
    for (const listening of this.#listening) listening.leave();
    if (lameDuckMs > 0) await new Promise<void>((resolve) => void this.runtime.clock.timer(lameDuckMs, resolve));
    await Promise.all([this.#worker.stop(), this.#stopReceiving()]);
    await this.runtime.store.close();
    this.#opening = undefined;
    this.#provenAtMs = Number.NEGATIVE_INFINITY;
    this.#alive?.port1.close();
    this.#alive = undefined;
  }

  /** Our own servers first, which hand their senders on; a server that mounts our hooks goes on asking. */
  async #stopReceiving(): Promise<void> {
    const { graceMs } = this.runtime.limits;
    if (this.#listening.size > 0) {
      await Promise.all([...this.#listening].map((listening) => listening.close(graceMs)));
      this.#listening.clear();
    }
    let cancel = (): void => undefined;
    const late = new Promise<void>((resolve) => {
      cancel = this.runtime.clock.timer(graceMs, resolve);
    });
    await Promise.race([this.#gate.close().then(() => this.#inbox.idle()), late]);
    cancel();
  }

  async receive(connectionId: string, given: DeliveryInput): Promise<Received> {
    const connection = await connectionOf(this.connections, connectionId);
    const delivery = deliveryOf(given, this.runtime.clock.wallMs());
    return this.#gate.run(() => this.#inbox.receive(connection, delivery));
  }

  async receiveBatch(connectionId: string, given: DeliveryInput): Promise<readonly ReceivedItem[]> {
    const connection = await connectionOf(this.connections, connectionId);
    const delivery = deliveryOf(given, this.runtime.clock.wallMs());
    return this.#gate.run(() => this.#inbox.receiveBatch(connection, delivery));
  }

  async transaction<T>(scope: TransactionScope, body: (context: WorkContext) => Promise<T> | T): Promise<T> {
    await this.#opened();
    const { runtime } = this;
    const own = await scopeOf(this.connections, scope);
    return transact(runtime, (tx, signals) => runUnit(tx, { scope: own, runtime, signals }, body));
  }

  within(transaction: OwnTransaction): Within {
    return within(transaction, {
      runtime: this.runtime,
      connections: this.connections,
      inbox: this.#inbox,
      opened: () => this.#opened(),
    });
  }

  trialDelivery(connectionId: string, options: TrialOptions = {}): SignedDelivery {
    const connection = connectionAtHand(this.connections, connectionId);
    const { provider, keyring } = connection;
    const { publicUrl } = keyring;
    const timestampMs = this.runtime.clock.wallMs();
    return trialDelivery(provider.rules, secretsOf(connection), {
      ...options,
      connection: connectionId,
      handled: connection.handlers,
      timestampMs,
      publicUrl,
    });
  }

  operator({ who }: { readonly who: string }): Operator {
    const { runtime, connections } = this;
    return new Operator({ runtime, connections, who });
  }

  doctor(): Promise<readonly Finding[]> {
    return examine(this);
  }

  subscribe(emit: Emit): () => void {
    this.#parts.subscribers.add(emit);
    return () => this.#parts.subscribers.delete(emit);
  }

  live(): boolean {
    return this.#worker.health().live;
  }

  async ready(): Promise<boolean> {
    if (this.#stopping !== undefined) return false;
    await this.#opened();
    const { store, limits, clock } = this.runtime;
    this.#proving ??= store
      .transaction((tx) => tx.touch(), { waitMs: limits.lockMs })
      .finally(() => {
        this.#proving = undefined;
      });
    await this.#proving;
    this.#provenAtMs = clock.monotonicMs();
    return true;
  }

  async #recentlyReady(): Promise<boolean> {
    const isRecent = this.runtime.clock.monotonicMs() - this.#provenAtMs < proofMs;
    return isRecent ? this.#stopping === undefined : this.ready();
  }

  #assertServable(): void {
    if (this.problems.length > 0) throw new CounterfoilError("CONFIG_INVALID", this.problems.join("\n"));
  }
}
