/**
 * Bounds the memory of bodies, from their first byte until their answer.
 *
 * Bytes are charged as they arrive: what is announced, or dripped, takes nothing from others. Whoever
 * sends them has proven nothing yet, so one half of the pool is shares, one of each connection, that
 * no other connection's flood can use up; the other half is for whoever needs it.
 */
import { CounterfoilError } from "../domain/errors.ts";
import type { Connection } from "../inbox/connection.ts";

/** The bytes of one body that arrived so far. */
export interface BodySink {
  /** Takes the next bytes; throws BODY_TOO_LARGE or OVERLOADED instead of holding more than it may. */
  add(chunk: Uint8Array): void;
  /** All of them; not to be added to any more. */
  bytes(): Uint8Array;
  /** Charges bytes that are held beside them until the answer; throws OVERLOADED where there is no room. */
  holdMore(bytes: number): void;
}

export interface BodyPoolOptions {
  readonly bytesMax: number;
  /** How many have a share. */
  readonly connections: number;
}

/** The largest body that a pool of this size takes while nobody else floods it. */
export function largestBody(bytesMax: number): number {
  return Math.ceil(bytesMax / 2);
}

export class BodyPool {
  readonly #commonBytes: number;
  readonly #shareBytes: number;
  readonly #held = new Map<string, number>();
  #commonHeld = 0;

  constructor({ bytesMax, connections }: BodyPoolOptions) {
    this.#commonBytes = largestBody(bytesMax);
    this.#shareBytes = Math.floor((bytesMax - this.#commonBytes) / Math.max(1, connections));
  }

  /** Holds one body of a connection for as long as its use takes. */
  async hold<T>(
    { id, bodyBytesMax }: Pick<Connection, "id" | "bodyBytesMax">,
    use: (body: BodySink) => Promise<T>,
  ): Promise<T> {
    const body = new Body(
      (bytes, more) => {
        if (bytes + more > bodyBytesMax) {
          throw new CounterfoilError(
            "BODY_TOO_LARGE",
            `Cannot read the body: it is over the connection's limit of ${bodyBytesMax} bytes`,
          );
        }
        this.#charge(id, more);
      },
      (more) => this.#charge(id, more),
    );
    try {
      return await use(body);
    } finally {
      this.#charge(id, -body.length - body.more);
    }
  }

  #charge(connection: string, bytes: number): void {
    const held = this.#held.get(connection) ?? 0;
    const common = this.#beyondShare(held + bytes) - this.#beyondShare(held);
    if (common > 0 && this.#commonHeld + common > this.#commonBytes) {
      throw new CounterfoilError(
        "OVERLOADED",
        `Cannot take the delivery: bodies of ${held} bytes are held for its connection; send it again later`,
      );
    }
    this.#commonHeld += common;
    this.#held.set(connection, held + bytes);
  }

  #beyondShare(bytes: number): number {
    return Math.max(0, bytes - this.#shareBytes);
  }
}

/**
 * Collects a body in one buffer that doubles as it fills. A list of chunks would cost a sender of
 * chunks of one byte nothing, and its receiver a hundred times what was charged.
 */
class Body implements BodySink {
  readonly #charge: (bytes: number, more: number) => void;
  readonly #chargeMore: (more: number) => void;
  #buffer: Uint8Array = new Uint8Array();
  length = 0;
  more = 0;

  constructor(charge: (bytes: number, more: number) => void, chargeMore: (more: number) => void) {
    this.#charge = charge;
    this.#chargeMore = chargeMore;
  }

  holdMore(bytes: number): void {
    this.#chargeMore(bytes);
    this.more += bytes;
  }

  add(chunk: Uint8Array): void {
    const length = this.length + chunk.length;
    this.#charge(this.length, chunk.length);
    // Most bodies are one chunk, which is kept as it is; it has no room, so that nothing is written into it.
    if (this.length === 0) this.#buffer = chunk;
    else {
      if (length > this.#buffer.length) this.#buffer = grown(this.#buffer, length);
      this.#buffer.set(chunk, this.length);
    }
    this.length = length;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.length);
  }
}

function grown(buffer: Uint8Array, length: number): Uint8Array {
  const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * buffer.length));
  larger.set(buffer);
  return larger;
}
