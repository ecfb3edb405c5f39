/**
 * The inbox as the HTTP thread has it: it verifies and reads here, hands what was read to the engine's
 * thread, and waits for that thread's commit.
 */
import { CounterfoilError, type ErrorCode } from "../domain/errors.ts";
import type { Limits } from "../domain/limits.ts";
import type { TelemetryEvent } from "../domain/telemetry.ts";
import type { Delivered, Readable, Received } from "../inbox/arrival.ts";
import type { Connection } from "../inbox/connection.ts";
import type { Hold } from "../inbox/inflate.ts";
import { openDelivery, type Opened } from "../inbox/open-delivery.ts";
import { takeItems } from "../inbox/take-items.ts";
import { explainRefusal, type Refused } from "../verify/verdict.ts";
import type { Delivery } from "../verify/verify.ts";
import { GatheredNews } from "./gathered-news.ts";
import type { Told, ToldError, ToEngine, HandedDelivery } from "./messages.ts";

/** So many deliveries are not kept for more: the engine's thread works on them while this one reads on. */
const messageMax = 16;

interface Waiting {
  readonly resolve: (received: Received) => void;
  readonly reject: (error: unknown) => void;
}

export interface RemoteInboxOptions {
  readonly limits: Limits;
  readonly post: (message: ToEngine, transfer: readonly ArrayBuffer[]) => void;
}

export class RemoteInbox {
  readonly #options: RemoteInboxOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #news = new GatheredNews();
  #deliveries: HandedDelivery[] = [];
  #bodies: Uint8Array[] = [];
  #last = 0;
  #scheduled = false;
  /** The engine has heard all news that were sent. */
  #heard = true;

  constructor(options: RemoteInboxOptions) {
    this.#options = options;
  }

  /** Resolves after the engine's commits; rejects with the code that the engine met. */
  async deliver(connection: Connection, delivery: Delivery, hold: Hold): Promise<Delivered> {
    const opened = await this.#open(connection, delivery, hold);
    if (opened.kind === "event") return { kind: "event", received: await this.#hand(connection, opened.readable) };
    for (const item of opened.items) if (item instanceof CounterfoilError) this.#tellRefused(connection, item.code);
    const { groupMax } = this.#options.limits;
    const items = await takeItems(opened.items, { groupMax, take: (item) => this.#hand(connection, item) });
    return { kind: "batch", items };
  }

  /** Has the engine's thread tell its subscribers: there is one log and one count for the process. */
  emit(event: TelemetryEvent): void {
    this.#news.emit(event);
    this.#schedule();
  }

  /** The engine has heard the last news: what came up meanwhile may follow. */
  heard(): void {
    this.#heard = true;
    if (!this.#news.isEmpty) this.#schedule();
  }

  /** Hands over what is left, before the end. */
  flush(): void {
    this.#heard = true;
    this.#send();
  }

  /** Takes the engine's answers. */
  settle(answers: readonly Told[]): void {
    for (const answer of answers) {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ("received" in answer) waiting?.resolve(answer.received);
      else waiting?.reject(errorOf(answer.error));
    }
  }

  async #open(connection: Connection, delivery: Delivery, hold: Hold): Promise<Opened> {
    let opened: Opened | Refused;
    try {
      opened = await openDelivery(connection, delivery, { hold, itemsMax: this.#options.limits.batchMax });
    } catch (error) {
      this.#tellRefused(connection, error instanceof CounterfoilError ? error.code : "INTERNAL");
      throw error;
    }
    if (opened.kind !== "refused") return opened;
    this.#news.refuse({ connection: connection.id, at: delivery.arrivedAtMs, refused: opened });
    this.#schedule();
    throw new CounterfoilError("SIGNATURE_REFUSED", explainRefusal(opened));
  }

  #tellRefused({ id }: Connection, code: ErrorCode | "INTERNAL"): void {
    this.emit({ kind: "delivery.refused", connection: id, code, cause: null });
  }

  async #hand(connection: Connection, { read, bytes, content }: Readable): Promise<Received> {
    const { waitingMax } = this.#options.limits;
    if (this.#waiting.size >= waitingMax) {
      this.#tellRefused(connection, "OVERLOADED");
      const message = `Cannot take the delivery: ${waitingMax} are waiting for the engine; send it again later`;
      throw new CounterfoilError("OVERLOADED", message);
    }
    this.#last += 1;
    const contentBytes = content === bytes ? null : content.length;
    const { id } = connection;
    this.#deliveries.push({ id: this.#last, connection: id, read, bodyBytes: bytes.length, contentBytes });
    this.#bodies.push(bytes);
    if (contentBytes !== null) this.#bodies.push(content);
    if (this.#deliveries.length >= messageMax) this.#send();
    else this.#schedule();
    return new Promise((resolve, reject) => void this.#waiting.set(this.#last, { resolve, reject }));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After the turn's I/O, so that everything that arrived in it goes in one message.
    setImmediate(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const news = this.#heard && !this.#news.isEmpty ? this.#news.take() : null;
    if (news !== null) this.#heard = false;
    const deliveries = this.#deliveries;
    if (deliveries.length === 0 && news === null) return;
    const bodies = joined(this.#bodies);
    [this.#deliveries, this.#bodies] = [[], []];
    this.#options.post({ kind: "turn", deliveries, bodies, news }, [bodies.buffer]);
  }
}

/** One buffer for all: it changes hands instead of being copied once more. */
function joined(bodies: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(bodies.reduce((bytes, { length }) => bytes + length, 0));
  let at = 0;
  for (const body of bodies) {
    all.set(body, at);
    at += body.length;
  }
  return all;
}

function errorOf({ code, message }: ToldError): Error {
  return code === "INTERNAL" ? new Error(message) : new CounterfoilError(code, message);
}
