/**
 * A TCP proxy that stands between a client and a server and fails as told, so that the server has
 * really done its part when the client learns nothing of it.
 *
 * Each direction of a connection is one loop: read a chunk, ask the mode of this moment, pass it on or
 * not. A loop reads no further before the chunk is written, so that order and back-pressure are TCP's own.
 */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";

/** Which way bytes flow: from the client to the server, or back. */
export type ProxyDirection = "request" | "reply";

/** What the proxy does with the bytes and ends of connections that pass it. */
export type ProxyMode =
  | { readonly kind: "pass" }
  /** Swallows all that the server says, also its end: the request took effect and the caller waits. */
  | { readonly kind: "drop-reply" }
  /** Passes that many bytes of one direction of a connection, counted from now, then resets both its sides. With 0, the first byte resets. */
  | { readonly kind: "reset"; readonly direction: ProxyDirection; readonly afterBytes: number }
  /** A black hole: accepts, passes nothing and closes nothing, so that ends are half-open. What waited goes on in the next mode. */
  | { readonly kind: "stall" }
  /** Cuts everything into pieces of this many bytes, each in a packet of its own. */
  | { readonly kind: "slice"; readonly bytes: number };

/** Settings of {@link startFaultProxy}. */
export interface FaultProxyOptions {
  /** Port on 127.0.0.1 of the server behind the proxy. */
  readonly targetPort: number;
  /** Default `{ kind: "pass" }`. */
  readonly mode?: ProxyMode;
  /** Port on 127.0.0.1 to listen on. Default 0, a free one. */
  readonly port?: number;
}

/**
 * Starts a {@link FaultProxy} on 127.0.0.1.
 *
 * @example
 * ```ts
 * await using carrier = await startFakeProvider();
 * await using proxy = await startFaultProxy({ targetPort: Number(new URL(carrier.url).port) });
 * proxy.setMode({ kind: "reset", direction: "reply", afterBytes: 0 });
 * const booking = fetch(`${proxy.url}/v1/shipments`, { method: "POST", body: "{}" });
 * await booking.catch(() => "lost"); // "lost"
 * carrier.counts().effects; // 1
 * ```
 */
export async function startFaultProxy({ targetPort, mode, port = 0 }: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort, mode ?? { kind: "pass" });
  await proxy.listen(port);
  return proxy;
}

/** A proxy whose mode can change at any time, for connections that are open too. */
export class FaultProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs: Set<readonly Socket[]> = new Set();
  #targetPort: number;
  #mode: ProxyMode;
  #changed: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor(targetPort: number, mode: ProxyMode) {
    this.#targetPort = targetPort;
    this.#mode = mode;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#join(client));
  }

  /** Called by {@link startFaultProxy}. */
  async listen(port: number): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections on which one side at least is still open. */
  get connections(): number {
    return this.#pairs.size;
  }

  setMode(mode: ProxyMode): void {
    this.#mode = mode;
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Sends new connections to this port, as an address does that moves to another machine. Open ones stay where they are. */
  setTarget(port: number): void {
    this.#targetPort = port;
  }

  /** Resets every open connection on both sides, also idle ones. */
  resetConnections(): void {
    for (const pair of this.#pairs) reset(pair);
  }

  /** Stops listening and drops every connection. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    // Loops that wait out a stall find their sockets gone and end.
    this.setMode({ kind: "pass" });
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.close();
  }

  #join(client: Socket): void {
    const server = connect({ host: "127.0.0.1", port: this.#targetPort, allowHalfOpen: true, noDelay: true });
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    // The loops hear of errors as they read and write; without a listener Node would end the process.
    for (const socket of pair) socket.on("error", () => undefined);
    const flows = [this.#pump("request", client, server), this.#pump("reply", server, client)];
    void Promise.all(flows)
      // Both sides have ended; a client to which that was not passed on is let go here.
      .then(() => pair.forEach((socket) => socket.destroySoon()))
      // One side was reset or out of reach; the other hears of it as it would without a proxy.
      .catch(() => reset(pair))
      .finally(() => this.#pairs.delete(pair));
  }

  async #pump(direction: ProxyDirection, from: Socket, to: Socket): Promise<void> {
    let since: ProxyMode | undefined;
    let passedBytes = 0;
    for await (const chunk of from as AsyncIterable<Buffer>) {
      const mode = await this.#unstalledMode();
      if (mode !== since) [since, passedBytes] = [mode, 0];
      if (mode.kind === "drop-reply" && direction === "reply") continue;
      if (mode.kind === "reset" && mode.direction === direction) {
        const part = chunk.subarray(0, mode.afterBytes - passedBytes);
        await write(to, part);
        passedBytes += part.length;
        if (passedBytes === mode.afterBytes) return reset([from, to]);
        continue;
      }
      await writeSliced(to, chunk, mode.kind === "slice" ? mode.bytes : chunk.length);
    }
    const { kind } = await this.#unstalledMode();
    if (kind !== "drop-reply" || direction !== "reply") to.end();
  }

  /** The mode of this moment; while it is a stall, waits for the next. */
  async #unstalledMode(): Promise<Exclude<ProxyMode, { kind: "stall" }>> {
    while (this.#mode.kind === "stall") await this.#changed.promise;
    return this.#mode;
  }
}

function reset(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.resetAndDestroy();
}

async function writeSliced(to: Socket, chunk: Buffer, bytes: number): Promise<void> {
  for (let at = 0; at < chunk.length; at += bytes) {
    if (at > 0) await setImmediate();
    await write(to, chunk.subarray(at, at + bytes));
  }
}

async function write(to: Socket, bytes: Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  to.write(bytes, (error) => (error ? reject(error) : resolve()));
  await promise;
}
