/**
 * Listens in a thread of its own, so that HTTP and signatures do not take the time of the thread that
 * writes. The engine stays where it is: the database, the handlers, the outbox and all that is told
 * stand in this thread, and the other has nothing that a crash could leave half done.
 */
import { Worker, workerData } from "node:worker_threads";
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError } from "../domain/errors.ts";
import { siblingModule } from "../domain/sibling-module.ts";
import type { Emit } from "../domain/telemetry.ts";
import type { Gate } from "../http/gate.ts";
import type { HealthChecks, Listening } from "../http/serve.ts";
import type { Readable } from "../inbox/arrival.ts";
import type { Connection } from "../inbox/connection.ts";
import type { Connections } from "../inbox/connections.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { loadError } from "./load-error.ts";
import type { FrontData, News, Told, ToEngine, ToFront, Turn, HandedDelivery } from "./messages.ts";

/** What the HTTP thread reaches in this one. */
export interface Engine {
  readonly connections: Connections;
  readonly inbox: Inbox;
  readonly gate: Gate;
  readonly health: HealthChecks;
  readonly emit: Emit;
}

/** Starts the thread; resolves once it listens. What it dies of later is thrown as this process's own fault. */
export async function listenInThread(data: FrontData, engine: Engine): Promise<Listening> {
  assertOutside(data);
  const file = siblingModule(import.meta.url, "front-thread");
  const worker = new Worker(file, { name: "counterfoil-http", workerData: data, argv: process.argv.slice(2) });
  const post = (message: ToFront): void => worker.postMessage(message);
  const ended = new Promise<void>((resolve) => void worker.once("exit", () => resolve()));
  const { url, port } = await opened(worker, new Front(engine, post));
  let closing: Promise<void> | undefined;
  void ended.then(() => {
    // Senders would meet a closed port while the process looks well.
    if (closing === undefined) throw new Error("Cannot go on: the HTTP thread ended by itself");
  });
  const close = async (graceMs: number): Promise<void> => {
    const closed = said(worker, "closed");
    post({ kind: "close", graceMs });
    await Promise.race([closed, ended]);
    // The configuration may have left timers or sockets behind that would keep it alive.
    await worker.terminate();
  };
  return { url, port, leave: () => post({ kind: "leave" }), close: (graceMs) => (closing ??= close(graceMs)) };
}

/** A module that listens when it is loaded would do so in its own thread again, and so on without an end. */
function assertOutside({ configuration }: FrontData): void {
  if ((workerData as Partial<FrontData> | null)?.configuration !== configuration) return;
  throw new CounterfoilError(
    "CONFIG_INVALID",
    "Cannot listen: the module that `thread` names listens itself when it is loaded; name one that only defines the application",
  );
}

type Opened = Extract<ToEngine, { readonly kind: "listening" }>;

async function opened(worker: Worker, front: Front): Promise<Opened> {
  worker.on("message", (message: ToEngine) => front.take(message));
  const { promise, resolve, reject } = Promise.withResolvers<Opened>();
  const onError = (error: unknown): void => reject(loadError(error));
  const onEnd = (): void => reject(loadError(new Error("it ended the thread")));
  const onMessage = (message: ToEngine): void => {
    if (message.kind === "failed") reject(startError(message));
    if (message.kind === "listening") resolve(message);
  };
  worker.on("message", onMessage).on("error", onError).on("exit", onEnd);
  try {
    return await promise;
  } catch (error) {
    await worker.terminate();
    throw error;
  } finally {
    // From here on nobody hears its errors, so that one ends the process.
    worker.off("message", onMessage).off("error", onError).off("exit", onEnd);
  }
}

function said(worker: Worker, kind: ToEngine["kind"]): Promise<void> {
  return new Promise((resolve) => {
    worker.on("message", (message: ToEngine) => {
      if (message.kind === kind) resolve();
    });
  });
}

function startError({ error }: Extract<ToEngine, { readonly kind: "failed" }>): Error {
  const { code, message, system } = error;
  if (system !== null) return Object.assign(new Error(message), system);
  return code === "INTERNAL" ? new Error(message) : new CounterfoilError(code, message);
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

  take(message: ToEngine): void {
    if (message.kind === "turn") this.#takeTurn(message);
    else if (message.kind === "ask") void this.#answerHealth(message.health);
  }

  #takeTurn({ deliveries, bodies, news }: Turn): void {
    let at = 0;
    for (const delivery of deliveries) {
      const bytes = bodies.subarray(at, (at += delivery.bodyBytes));
      const { contentBytes } = delivery;
      const content = contentBytes === null ? bytes : bodies.subarray(at, (at += contentBytes));
      void this.#receive(delivery, { bytes, content });
    }
    if (news !== null) this.#hear(news);
  }

  #hear({ refusals, events }: News): void {
    const { inbox, emit, connections } = this.#engine;
    for (const { connection, at, refused } of refusals) {
      if (connections.mayHave(connection)) inbox.refuse({ id: connection }, refused, at);
    }
    for (const { event, times } of events) for (let left = times; left > 0; left -= 1) emit(event);
    this.#post({ kind: "heard" });
  }

  async #receive(
    { id, connection: to, read }: HandedDelivery,
    body: Pick<Readable, "bytes" | "content">,
  ): Promise<void> {
    try {
      const { gate, inbox } = this.#engine;
      const connection = await this.#connection(to);
      const received = await gate.run(() => inbox.take(connection, { read, ...body }));
      this.#tell({ id, received });
    } catch (error) {
      const code = error instanceof CounterfoilError ? error.code : "INTERNAL";
      // A coded message has no payload in it; of another error only its kind may leave.
      const message = error instanceof CounterfoilError ? error.message : errorSummary(error);
      this.#tell({ id, error: { code, message } });
    }
  }

  /** The two threads may have loaded configurations that differ: only one of them can be right. */
  async #connection(id: string): Promise<Connection> {
    const { connections, emit } = this.#engine;
    const connection = await connections.find(id);
    if (connection !== undefined) return connection;
    emit({ kind: "delivery.refused", connection: id, code: "UNKNOWN_CONNECTION", cause: null });
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

  async #answerHealth(health: keyof HealthChecks): Promise<void> {
    const healthy = await Promise.resolve(this.#engine.health[health]()).catch(() => false);
    this.#post({ kind: "health", health, healthy });
  }
}
