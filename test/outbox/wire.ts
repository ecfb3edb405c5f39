/** A provider at the level of its sockets: what it does with each connection is up to the test. */
import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { onTestFinished } from "vitest";
import { defaults } from "../../src/domain/limits.ts";
import type { CallResult } from "../../src/outbox/call-result.ts";
import { Caller, type CallerOptions, type CallOptions, type CallRequest } from "../../src/outbox/caller.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const tls = new URL("../fixtures/tls/", import.meta.url);
/** The certificate of every TLS server here; it signs itself, so it is its own authority. */
export const certificate: string = readFileSync(new URL("carrier-certificate.pem", tls), "utf8");
const key = readFileSync(new URL("carrier-key.pem", tls), "utf8");

/** A listening server that remembers its connections and every byte that came in on them. */
export class Wire implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly received: Buffer[] = [];
  connections = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Serves plain connections. `onRequest` runs once for each piece that arrives. */
  static plain(onRequest?: (socket: Socket, text: string) => void): Promise<Wire> {
    return Wire.#listen(createServer(), "connection", onRequest);
  }

  /** Serves TLS connections; they count once the handshake is over. */
  static secure(onRequest?: (socket: Socket, text: string) => void): Promise<Wire> {
    return Wire.#listen(createTlsServer({ key, cert: certificate }), "secureConnection", onRequest);
  }

  static async #listen(
    server: Server,
    event: string,
    onRequest?: (socket: Socket, text: string) => void,
  ): Promise<Wire> {
    const wire = new Wire(server);
    server.on("connection", (socket: Socket) => wire.#keep(socket));
    server.on(event, (socket: Socket) => {
      wire.connections += 1;
      // Tests break connections on purpose; what that does to this side is no failure.
      socket.on("error", () => undefined);
      socket.on("data", (chunk: Buffer) => {
        wire.received.push(chunk);
        onRequest?.(socket, chunk.toString("latin1"));
      });
    });
    server.on("tlsClientError", () => undefined);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return wire;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get text(): string {
    return Buffer.concat(this.received).toString("latin1");
  }

  /** Sockets that are open, oldest first. */
  get sockets(): readonly Socket[] {
    return [...this.#sockets];
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.close();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => this.#sockets.delete(socket));
  }
}

/** The text of a whole answer. */
export function answer(status: string, body = "", headers: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status}`, `Content-Length: ${Buffer.byteLength(body)}`, ...headers];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** Answers as a carrier that has booked a shipment. */
export function replyOk(socket: Socket): void {
  socket.write(answer("201 Created", '{"id":"s_1"}'));
}

/** Resolves every name to this machine. */
export async function toLoopback(): Promise<readonly LookupAddress[]> {
  return [{ address: "127.0.0.1", family: 4 }];
}

/** A caller whose clock only moves when the test moves it; closed when the test ends. */
export function make(options: Partial<CallerOptions> = {}): { readonly caller: Caller; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  const caller = new Caller({ clock, limits: defaults, idleMs: 60_000, ...options });
  onTestFinished(() => caller.close());
  return { caller, clock };
}

export interface Sending extends Partial<CallOptions> {
  readonly caller?: Caller;
  readonly request?: Partial<CallRequest>;
}

/** Posts a small JSON body to where the test serves. */
export function send(url: string, { caller = make().caller, request, ...options }: Sending = {}): Promise<CallResult> {
  const systemHeaders = { "content-type": "application/json", "idempotency-key": "cf-1" };
  const body = Buffer.from('{"order":"1042"}');
  return caller.call(
    { method: "POST", url, body, headers: {}, systemHeaders, ...request },
    { mayStart: () => true, allow: [new URL(url).origin], ...options },
  );
}

export function textOf(result: CallResult): string {
  return result.kind === "answered" ? Buffer.from(result.body).toString() : "";
}
