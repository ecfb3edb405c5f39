/**
 * One HTTP exchange on one connection, and how far it got.
 *
 *   resolve -> connect -> tls -> write      -> write -> headers -> body -> complete
 *   '------ not sent: no byte written ---'     '--- unknown ---'   '-- answered --'
 *
 * The connection is obtained first; then the caller is asked whether the call may still start; only
 * then the first byte is written, in the same turn of the event loop. From that moment nothing but a
 * status counts as knowledge. A status stays an answer even when its body is cut short.
 *
 * There is one attempt on one connection: no retry, no redirect, no proxy, no decompression.
 */
import http, { type Agent, type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { isIP, type LookupFunction, type Socket } from "node:net";
import type { Clock } from "../domain/clock.ts";
import type { Probe } from "../domain/probe.ts";
import type { CallCause, CallPhase, CallResult } from "./call-result.ts";
import type { HeaderFields } from "./headers.ts";
import { allowHint, DestinationRefused, hostOf } from "./ssrf-guard.ts";

/** A request whose destination and headers have been checked. */
export interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly headers: HeaderFields;
  readonly body: Uint8Array | null;
}

/** Settings of {@link httpCall}. */
export interface ExchangeOptions {
  readonly agent: Agent;
  readonly lookup: LookupFunction;
  readonly clock: Pick<Clock, "timer">;
  readonly connectMs: number;
  readonly callMs: number;
  readonly answerBytes: number;
  readonly headerBytes: number;
  /** Names of answer headers to keep, in lower case. */
  readonly keepHeaders: readonly string[];
  readonly mayStart: () => boolean;
  /** Signals that end the call, each with the cause it stands for. */
  readonly stops: readonly { readonly signal: AbortSignal; readonly cause: CallCause }[];
  readonly probe?: Probe | undefined;
}

/** Runs one exchange. Rejects only with what `mayStart` or the probe threw; the connection is then gone. */
export function httpCall(exchange: Exchange, options: ExchangeOptions): Promise<CallResult> {
  return new HttpCall(exchange, options).run();
}

class HttpCall {
  readonly #exchange: Exchange;
  readonly #options: ExchangeOptions;
  readonly #request: ClientRequest;
  readonly #result = Promise.withResolvers<CallResult>();
  readonly #chunks: Uint8Array[] = [];
  #phase: CallPhase;
  #bytes = 0;
  #writing = false;
  #over = false;
  #answer: IncomingMessage | undefined;
  #cleanups: (() => void)[] = [];

  constructor(exchange: Exchange, options: ExchangeOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.#phase = isIP(hostOf(exchange.url)) === 0 ? "resolve" : "connect";
    this.#request = (this.#secure ? https : http).request(exchange.url, {
      method: exchange.method,
      headers: exchange.headers,
      agent: options.agent,
      lookup: this.#lookup,
      maxHeaderSize: options.headerBytes,
      // Named here so that neither an environment variable nor a changed default can weaken them.
      insecureHTTPParser: false,
      rejectUnauthorized: true,
    });
  }

  run(): Promise<CallResult> {
    const { clock, connectMs, callMs, stops } = this.#options;
    this.#request.once("socket", (socket) => this.#useSocket(socket));
    this.#request.once("response", (answer) => this.#readAnswer(answer));
    // "error" may come more than once, also after the end; unheard it would end the process.
    this.#request.on("error", (error) => this.#fail(error));
    this.#request.once("close", () => this.#stop("reset", "the connection closed"));
    this.#cleanups = [
      clock.timer(connectMs, () => this.#connectDeadline(connectMs)),
      clock.timer(callMs, () => this.#stop("deadline", `no answer within ${callMs} ms`)),
      ...stops.map((stop) => this.#listen(stop)),
    ];
    return this.#result.promise;
  }

  get #secure(): boolean {
    return this.#exchange.url.protocol === "https:";
  }

  #listen({ signal, cause }: ExchangeOptions["stops"][number]): () => void {
    const stop = (): void => this.#stop(cause, "stopped by the caller");
    signal.addEventListener("abort", stop);
    return () => signal.removeEventListener("abort", stop);
  }

  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    this.#options.lookup(hostname, options, (error, ...found) => {
      if (!error) this.#phase = "connect";
      callback(error, ...found);
    });
  };

  #useSocket(socket: Socket): void {
    if (this.#request.reusedSocket) return this.#start();
    socket.once("connect", () => {
      if (this.#secure) this.#phase = "tls";
      else this.#start();
    });
    if (this.#secure) socket.once("secureConnect", () => this.#start());
  }

  #connectDeadline(connectMs: number): void {
    if (this.#phase !== "resolve" && this.#phase !== "connect" && this.#phase !== "tls") return;
    this.#stop("deadline", `no connection within ${connectMs} ms`);
  }

  #start(): void {
    const { mayStart, probe } = this.#options;
    this.#guarded(() => {
      this.#phase = "write";
      probe?.("call.write:before");
      if (!mayStart()) return this.#stop("withdrawn", "taken back before the first byte");
      this.#writing = true;
      this.#request.once("finish", () => this.#written());
      this.#request.end(this.#exchange.body ?? undefined);
    });
  }

  #written(): void {
    // A provider may answer, or refuse, before it has read the whole request.
    if (this.#phase === "write") this.#phase = "headers";
    this.#guarded(() => this.#options.probe?.("call.write:after"));
  }

  #readAnswer(answer: IncomingMessage): void {
    if (this.#over) return;
    this.#phase = "body";
    this.#answer = answer;
    answer.on("data", (chunk: Uint8Array) => this.#readChunk(chunk));
    answer.once("end", () => this.#complete(answer));
    answer.on("error", (error) => this.#fail(error));
    this.#guarded(() => this.#options.probe?.("call.read:before"));
  }

  #readChunk(chunk: Uint8Array): void {
    const room = this.#options.answerBytes - this.#bytes;
    this.#chunks.push(chunk.subarray(0, room));
    this.#bytes += Math.min(chunk.length, room);
    if (chunk.length > room) this.#stop("reset", "the body is too long");
  }

  #complete(answer: IncomingMessage): void {
    if (this.#over) return;
    this.#phase = "complete";
    this.#guarded(() => {
      this.#options.probe?.("call.read:after");
      this.#end(this.#answered(answer, !answer.complete));
    });
  }

  #fail(error: NodeJS.ErrnoException): void {
    if (error instanceof DestinationRefused) {
      return this.#stop("blocked", `${error.message}${allowHint(this.#exchange.url.origin)}`);
    }
    this.#stop(causeOf(error, this.#phase), error.code ?? error.name);
  }

  /** Ends the call where it is. What was learned before the end decides what the result is called. */
  #stop(cause: CallCause, detail: string): void {
    if (this.#over) return;
    const phase = this.#phase;
    if (this.#answer) this.#end(this.#answered(this.#answer, true));
    else if (this.#writing) this.#end({ kind: "unknown", reached: "maybe", phase, cause, detail });
    else this.#end({ kind: "not_sent", reached: "no", phase, cause, detail });
  }

  #answered(answer: IncomingMessage, truncated: boolean): CallResult {
    const kept = this.#options.keepHeaders.flatMap((name) => {
      const values = answer.headersDistinct[name];
      return values ? [[name, values] as const] : [];
    });
    const headers = Object.fromEntries(kept);
    const [status, body] = [answer.statusCode ?? 0, Buffer.concat(this.#chunks)];
    return { kind: "answered", reached: "yes", phase: this.#phase, status, headers, body, truncated };
  }

  /** What the caller's functions throw ends the call as a rejection, never as an uncaught error of an emitter. */
  #guarded(step: () => void): void {
    if (this.#over) return;
    try {
      step();
    } catch (error) {
      this.#result.reject(error);
      this.#release(false);
    }
  }

  #end(result: CallResult): void {
    this.#result.resolve(result);
    this.#release(result.phase === "complete" && this.#request.writableFinished);
  }

  /** Only a connection on which both messages ended whole may carry another call. */
  #release(reusable: boolean): void {
    this.#over = true;
    for (const cleanUp of this.#cleanups) cleanUp();
    if (!reusable) this.#request.destroy();
  }
}

function causeOf(error: NodeJS.ErrnoException, phase: CallPhase): CallCause {
  if (phase === "resolve") return "unresolved";
  if (phase === "connect") return error.code === "ECONNREFUSED" ? "refused" : "unreachable";
  if (phase === "tls") return "tls";
  return error.code?.startsWith("HPE_") ? "malformed" : "reset";
}
