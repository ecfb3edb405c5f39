/**
 * HTTP/1.1 by the byte, for what a proper client refuses to send: repeated headers, chunks cut
 * anywhere, a wrong Content-Length, a request in pieces. Nothing is added to the bytes given.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A message head and body to be encoded; nothing is checked. */
export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  /** Sent as they stand and in this order, repeated where repeated; `host` is added where it is missing. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Sent with its Content-Length, unless `headers` names one or a Transfer-Encoding. */
  readonly body?: string | Uint8Array;
}

/** An answer as it arrived. */
export interface RawAnswer {
  readonly statusLine: string;
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body, without its chunked coding. */
  readonly body: Buffer;
}

/** Settings of {@link openRaw}. */
export interface RawOptions {
  /** How long any read may take. Default 30 000 ms. */
  readonly withinMs?: number;
}

/** Encodes a request. */
export function requestBytes({ method = "POST", path = "/", headers = [], body = "" }: RawRequest): Buffer {
  const named = new Set(headers.map(([name]) => name.trim().toLowerCase()));
  const bytes = Buffer.from(body);
  const lines = [`${method} ${path} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (!named.has("host")) lines.push("host: 127.0.0.1");
  if (!named.has("content-length") && !named.has("transfer-encoding")) lines.push(`content-length: ${bytes.length}`);
  // Latin-1, as HTTP/1.1 reads header bytes; each code unit under 256 is one byte.
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), bytes]);
}

/** Encodes parts as chunks, cut where the parts are, and the last chunk. */
export function chunkedBytes(...parts: readonly (string | Uint8Array)[]): Buffer {
  const chunks = parts.map((part) => Buffer.from(part)).filter((bytes) => bytes.length > 0);
  const coded = chunks.flatMap((bytes) => [
    Buffer.from(`${bytes.length.toString(16)}\r\n`),
    bytes,
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...coded, Buffer.from("0\r\n\r\n")]);
}

/** The values of a header, in order; empty when it is absent. */
export function headerValues({ headers }: RawAnswer, name: string): string[] {
  return headers.filter(([other]) => other.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
}

/** Sends one request on a connection of its own and reads its answer. */
export async function rawExchange(port: number, request: RawRequest): Promise<RawAnswer> {
  await using connection = await openRaw(port);
  await connection.send(requestBytes(request));
  return await connection.read({ bodiless: request.method === "HEAD" });
}

/** Opens a {@link RawConnection} to 127.0.0.1. */
export async function openRaw(port: number, { withinMs = 30_000 }: RawOptions = {}): Promise<RawConnection> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  await once(socket, "connect");
  return new RawConnection(socket, withinMs);
}

/** One TCP connection: bytes out, answers in. */
export class RawConnection implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #chunks: AsyncIterator<Buffer, undefined>;
  #unread: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, withinMs: number) {
    this.#socket = socket;
    this.#chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    socket.setTimeout(withinMs, () => {
      socket.destroy(new Error(`Cannot read an answer: nothing arrived for ${withinMs} ms`));
    });
    // Reads report errors; a connection that nobody reads any more may end as it likes.
    socket.on("error", () => undefined);
  }

  /** Sends these bytes and nothing else; gives once they are handed to the kernel. */
  async send(bytes: string | Uint8Array): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    await promise;
  }

  /** Says that nothing more will be sent (FIN); answers can still be read. */
  end(): void {
    this.#socket.end();
  }

  /** Resets the connection (RST). */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /**
   * Reads the next answer, an interim one (1xx) too.
   *
   * @throws Error when the connection ends or is reset before the answer is whole, or nothing arrives in time.
   */
  async read({ bodiless = false }: { readonly bodiless?: boolean } = {}): Promise<RawAnswer> {
    const [statusLine = "", ...lines] = (await this.#takeThrough("\r\n\r\n"))
      .toString("latin1")
      .trimEnd()
      .split("\r\n");
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1]);
    const headers = lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
    const head = { statusLine, status, headers, body: Buffer.alloc(0) };
    const without = bodiless || status < 200 || status === 204 || status === 304;
    return without ? head : { ...head, body: await this.#body(head) };
  }

  /** Waits for bytes and shows them without taking them: the next {@link RawConnection.read} starts with them. */
  async peek(): Promise<Buffer> {
    await this.#need();
    return this.#unread;
  }

  /** Reads until the server closes; what had arrived before. Throws when it resets instead. */
  async rest(): Promise<Buffer> {
    while (await this.#more());
    return this.#take(this.#unread.length);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = once(this.#socket, "close");
    this.#socket.destroy();
    await closed;
  }

  async #body(head: RawAnswer): Promise<Buffer> {
    const [length] = headerValues(head, "content-length");
    if (length !== undefined) return this.#takeBytes(Number(length));
    if (!headerValues(head, "transfer-encoding").includes("chunked")) return this.rest();
    const chunks: Buffer[] = [];
    for (;;) {
      const bytes = Number.parseInt((await this.#takeThrough("\r\n")).toString("latin1"), 16);
      const chunk = await this.#takeBytes(bytes + 2);
      if (bytes === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, bytes));
    }
  }

  async #takeThrough(mark: string): Promise<Buffer> {
    while (!this.#unread.includes(mark)) await this.#need();
    return this.#take(this.#unread.indexOf(mark) + mark.length);
  }

  async #takeBytes(bytes: number): Promise<Buffer> {
    while (this.#unread.length < bytes) await this.#need();
    return this.#take(bytes);
  }

  #take(bytes: number): Buffer {
    const taken = this.#unread.subarray(0, bytes);
    this.#unread = this.#unread.subarray(bytes);
    return taken;
  }

  async #need(): Promise<void> {
    if (await this.#more()) return;
    throw new Error(`Cannot read an answer: the connection ended after ${this.#unread.length} bytes of it`);
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (!done) this.#unread = Buffer.concat([this.#unread, value]);
    return !done;
  }
}
