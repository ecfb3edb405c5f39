/**
 * Receives deliveries over HTTP, whatever server they came in by: checks what can be checked before the
 * body is read, reads it bounded, hands its bytes on, and answers after the commit.
 */
import { CounterfoilError, type ErrorCode } from "../domain/errors.ts";
import type { Limits } from "../domain/limits.ts";
import type { Emit } from "../domain/telemetry.ts";
import type { Delivered } from "../inbox/arrival.ts";
import type { Connection } from "../inbox/connection.ts";
import type { Connections } from "../inbox/connections.ts";
import type { Hold } from "../inbox/inflate.ts";
import { answerGreeting, answerHandshake, greetsByBody } from "../providers/handshake.ts";
import type { DeliveryHeaders } from "../verify/delivery-headers.ts";
import type { Delivery } from "../verify/verify.ts";
import { type Answer, answerBatch, answerError, answerOfHandshake, answerReceived } from "./answer.ts";
import { BodyPool, type BodySink } from "./body-pool.ts";
import type { Gate } from "./gate.ts";

/** One HTTP request, as far as hooks read it. */
export interface HookRequest {
  readonly method: string;
  /** Path and query as the client sent them. */
  readonly target: string;
  readonly headers: DeliveryHeaders;
  readonly headerBytes: number;
  readonly headerCount: number;
  /** Reads the whole body; what it is added to throws where there is no room for more. */
  readonly readBody: (body: BodySink) => Promise<void>;
}

/** Whoever takes a delivery whose bytes are complete, and tells of what it refuses: an inbox, here or in another thread. */
export interface Receiver {
  deliver(connection: Connection, delivery: Delivery, hold: Hold): Promise<Delivered>;
}

export interface HooksOptions {
  readonly connections: Connections;
  readonly inbox: Receiver;
  readonly gate: Gate;
  readonly limits: Limits;
  readonly emit: Emit;
  readonly now: () => number;
  /** Where hooks are mounted, such as `/hooks`; a connection's id is the segment after it. */
  readonly basePath: string;
}

export class Hooks {
  readonly #options: HooksOptions;
  readonly #bodies: BodyPool;

  constructor(options: HooksOptions) {
    const { connections, limits } = options;
    const shares = connections.listed.size + connections.sources.length;
    this.#options = options;
    this.#bodies = new BodyPool({ bytesMax: limits.bodyBytesReading, connections: shares });
  }

  /** Whether a request's path is one of these hooks, so that a mount knows what to pass on. */
  matches(target: string): boolean {
    return target.startsWith(`${this.#options.basePath}/`);
  }

  /** Answers a request; never rejects. */
  async handle(request: HookRequest): Promise<Answer> {
    let connection: Connection | undefined;
    try {
      const found = this.#connectionOf(request.target);
      connection = found instanceof Promise ? await found : found;
      return await this.#options.gate.run(() => this.#answer(connection, request));
    } catch (error) {
      return this.#refuse(connection, error);
    }
  }

  /** Answers a handshake, or a delivery whose bytes are held until its commit. */
  async #answer(connection: Connection | undefined, request: HookRequest): Promise<Answer> {
    if (connection === undefined) {
      throw new CounterfoilError(
        "UNKNOWN_CONNECTION",
        "Cannot take the delivery: no connection has the id in its path",
      );
    }
    const handshake = handshakeAnswer(connection, request);
    if (handshake !== undefined) return handshake;
    this.#assertTakeable(connection, request);
    const { headers, method, target } = request;
    const arrivedAtMs = this.#options.now();
    const { id, bodyBytesMax } = connection;
    return this.#bodies.hold({ id: this.#options.connections.peersOf(id), bodyBytesMax }, async (body) => {
      await request.readBody(body);
      const delivery = { headers, body: body.bytes(), arrivedAtMs, method, target };
      const greeting = await greetingAnswer(connection, delivery);
      return greeting ?? this.#deliver(connection, delivery, (bytes) => body.holdMore(bytes));
    });
  }

  async #deliver(connection: Connection, delivery: Delivery, hold: Hold): Promise<Answer> {
    const { answers, answerText } = connection.provider.rules;
    try {
      const delivered = await this.#options.inbox.deliver(connection, delivery, hold);
      const answer =
        delivered.kind === "batch"
          ? answerBatch(delivered.items, answers)
          : answerReceived(delivered.received, answers);
      return withText(answer, answerText);
    } catch (error) {
      // The inbox has told of it.
      return answerError(error, answers);
    }
  }

  #connectionOf(target: string): Connection | undefined | Promise<Connection | undefined> {
    const { basePath, connections } = this.#options;
    if (!this.matches(target)) return undefined;
    const end = target.indexOf("?");
    const path = target.slice(basePath.length + 1, end === -1 ? undefined : end);
    const id = connections.mayHave(path) ? path : decoded(path);
    if (connections.mayHave(id)) return connections.find(id);
    // The id may be followed by its connection's token.
    const listed = connections.listed.get(path.split("/", 1)[0] ?? "");
    const found = listed ?? connections.find(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
    return found instanceof Promise ? found.then(withPathToken) : withPathToken(found);
  }

  #assertTakeable({ provider, bodyBytesMax }: Connection, request: HookRequest): void {
    const { limits } = this.#options;
    if (!provider.rules.methods.includes(request.method)) {
      throw new CounterfoilError(
        "METHOD_REFUSED",
        `Cannot take the delivery: its method is ${request.method}, taken is ${provider.rules.methods.join(", ")}`,
      );
    }
    if (request.headerBytes > limits.headerBytes || request.headerCount > limits.headerCount) {
      throw new CounterfoilError(
        "HEADERS_TOO_LARGE",
        `Cannot take the delivery: its ${request.headerCount} headers have ${request.headerBytes} bytes`,
      );
    }
    const announced = Number(request.headers.get("content-length") ?? 0);
    if (announced > bodyBytesMax) {
      throw new CounterfoilError(
        "BODY_TOO_LARGE",
        `Cannot take the delivery: its body has ${announced} bytes, the connection takes ${bodyBytesMax}`,
      );
    }
  }

  #refuse(connection: Connection | undefined, error: unknown): Answer {
    const code: ErrorCode | "INTERNAL" = error instanceof CounterfoilError ? error.code : "INTERNAL";
    const answer = answerError(error, connection?.provider.rules.answers);
    this.#options.emit({ kind: "delivery.refused", connection: connection?.id ?? "", code, cause: null });
    if (code !== "METHOD_REFUSED" || connection === undefined) return answer;
    return { ...answer, headers: { ...answer.headers, allow: connection.provider.rules.methods.join(", ") } };
  }
}

function handshakeAnswer(connection: Connection, { method, target, headers }: HookRequest): Answer | undefined {
  const { handshake } = connection.provider.rules;
  if (handshake === undefined) return undefined;
  const query = new URLSearchParams(target.includes("?") ? target.slice(target.indexOf("?")) : "");
  const answer = answerHandshake(handshake, { method, query, headers }, connection.handshake);
  return answer && answerOfHandshake(answer);
}

/** Answers a handshake that only its body tells from an event, so that it never becomes one. */
async function greetingAnswer(connection: Connection, delivery: Delivery): Promise<Answer | undefined> {
  const { handshake } = connection.provider.rules;
  if (!greetsByBody(handshake)) return undefined;
  const { keyring } = connection;
  const answer = await answerGreeting(handshake, delivery, { ...connection.handshake, keyring });
  return answer && answerOfHandshake(answer);
}

function withText(answer: Answer, text: string | undefined): Answer {
  if (text === undefined || answer.body === null) return answer;
  return { ...answer, headers: { "content-type": "text/plain; charset=utf-8" }, body: text };
}

/** A connection whose token is the segment behind its id. */
function withPathToken(connection: Connection | undefined): Connection | undefined {
  const schemes = connection?.provider.rules.schemes ?? [];
  return schemes.some((scheme) => scheme.kind === "token" && "path" in scheme) ? connection : undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
