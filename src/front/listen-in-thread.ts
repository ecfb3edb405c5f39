/**
 * Listens in a thread of its own, so that HTTP and signatures do not take the time of the thread that
 * writes. The engine stays where it is: the database, the handlers, the outbox and all that is told
 * stand in this thread, and the other has nothing that a crash could leave half done.
 */
import { Worker } from "node:worker_threads";
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError } from "../domain/errors.ts";
import { siblingModule } from "../domain/sibling-module.ts";
import type { Emit } from "../domain/telemetry.ts";
import type { Gate } from "../http/gate.ts";
import type { HealthChecks, Listening } from "../http/serve.ts";
import type { Connection } from "../inbox/connection.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import type { FrontData, Told, ToEngine, ToFront, Turn, VerifiedDelivery } from "./messages.ts";

/** What the HTTP thread reaches in this one. */
export interface Engine {
  readonly connections: ReadonlyMap<string, Connection>;
  readonly inbox: Inbox;
  readonly gate: Gate;
  readonly health: HealthChecks;
  readonly emit: Emit;
}

/** Starts the thread; resolves once it listens. What it dies of later is thrown as this process's own fault. */
export async function listenInThread(data: FrontData, engine: Engine): Promise<Listening> {
  const file = siblingModule(import.meta.url, "front-thread");
  const worker = new Worker(file, { name: "counterfoil-http", workerData: data });
  const post = (message: ToFront): void => worker.postMessage(message);
  const ended = new Promise<void>((resolve) => void worker.once("exit", () => resolve()));
  const { url, port } = await opened(worker, new Front(engine, post));
  let isClosing = false;
  void ended.then(() => {
    // Senders would meet a closed port while the process looks well.
    if (!isClosing) throw new Error("Cannot go on: the HTTP thread ended by itself");
  });
  return {
    url,
    port,
    leave: () => post({ kind: "leave" }),
    async close(graceMs) {
      isClosing = true;
      post({ kind: "close", graceMs });
      await ended;
    },
  };
}

type Opened = Extract<ToEngine, { readonly kind: "listening" }>;

function opened(worker: Worker, front: Front): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const onEnd = (): void => reject(new Error("Cannot listen: the HTTP thread ended before it listened"));
    worker.once("exit", onEnd).once("error", reject);
    worker.on("message", (message: ToEngine) => {
      if (message.kind === "failed") return reject(startError(message));
      if (message.kind !== "listening") return front.take(message);
      // From here on nobody hears its errors, so that one ends the process.
      worker.off("exit", onEnd).off("error", reject);
      resolve(message);
    });
  });
}

function startError({ error }: Extract<ToEngine, { readonly kind: "failed" }>): Error {
  const { code, message, system } = error;
  if (system !== null) return Object.assign(new Error(message), system);
  if (code !== "INTERNAL") return new CounterfoilError(code, message);
  return new CounterfoilError(
    "CONFIG_INVALID",
    `Cannot load the configuration in the HTTP thread: ${message}; it is loaded there once more, as by every other process`,
  );
}

/** The engine's end of the talk. */
class Front {
  readonly #engine: Engine;
  readonly #post: (message: ToFront) => void;
  #answers: Told[] = [];

  constructor(engine: Engine, post: (message: ToFront) => void) {
    this.#engine = engine;
    this.#post = post;
  }

  take(message: Extract<ToEngine, { readonly kind: "turn" | "ask" }>): void {
    if (message.kind === "turn") this.#takeTurn(message);
    else void this.#answerHealth(message.id, message.health);
  }

  #takeTurn({ deliveries, bodies, refusals, events }: Turn): void {
    const { inbox, emit, connections } = this.#engine;
    let at = 0;
    for (const delivery of deliveries) {
      const body = bodies.subarray(at, (at += delivery.bodyBytes));
      void this.#receive(delivery, body);
    }
    for (const { connection, at: when, refused } of refusals) {
      const known = connections.get(connection);
      if (known !== undefined) inbox.refuse(known, refused, when);
    }
    for (const event of events) emit(event);
  }

  async #receive(delivery: VerifiedDelivery, body: Uint8Array): Promise<void> {
    const { id, verdict, arrivedAtMs } = delivery;
    try {
      const { gate, inbox } = this.#engine;
      const connection = this.#connection(delivery.connection);
      const headers = headersFromRaw(delivery.headers);
      const arrived = { delivery: { headers, body, arrivedAtMs }, verdict, policy: connection.failing };
      const received = await gate.run(() => inbox.take(connection, arrived));
      this.#tell({ id, received });
    } catch (error) {
      const code = error instanceof CounterfoilError ? error.code : "INTERNAL";
      // A coded message has no payload in it; of another error only its kind may leave.
      const message = error instanceof CounterfoilError ? error.message : errorSummary(error);
      this.#tell({ id, error: { code, message } });
    }
  }

  #connection(id: string): Connection {
    const connection = this.#engine.connections.get(id);
    if (connection !== undefined) return connection;
    // The two threads loaded configurations that differ: only one of them can be right.
    throw new CounterfoilError("UNKNOWN_CONNECTION", `Cannot take the delivery: this thread has no connection "${id}"`);
  }

  /** Gathers what one commit answers: a tick set from a microtask runs once all of them have run. */
  #tell(answer: Told): void {
    this.#answers.push(answer);
    if (this.#answers.length > 1) return;
    process.nextTick(() => {
      const answers = this.#answers;
      this.#answers = [];
      this.#post({ kind: "answers", answers });
    });
  }

  async #answerHealth(id: number, asked: "live" | "ready"): Promise<void> {
    const healthy = await Promise.resolve(this.#engine.health[asked]()).catch(() => false);
    this.#post({ kind: "health", id, healthy });
  }
}
