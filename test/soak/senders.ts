/** Senders that send until they are answered, as providers do, and remember what they were told. */
import { createHmac } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { Chance, Delivery, Message } from "./facts.ts";
import type { Member } from "./fleet.ts";

export const secret = "a secret of the soak's senders";

/** What a sender was told in the end. */
interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Outcome {
  readonly outcome?: string;
  readonly mismatch?: boolean;
}

export interface SendersOptions {
  readonly deliveries: readonly Delivery[];
  readonly receivers: readonly Member[];
  readonly chance: Chance;
  /** At the same time. */
  readonly connections: number;
  /** Called after each delivery that is over, with how many are. */
  readonly onDone: (done: number) => void;
}

export class Senders {
  /** Deliveries that were answered with 2xx. */
  acknowledged = 0;
  /** The longest time without any. */
  silenceMs = 0;
  /** Of these, those that were the first of their event. */
  readonly first: Map<string, number> = new Map();
  /** Events with a 2xx, by `nameOf`. */
  readonly known: Set<string> = new Set();
  /** Events that were said to have other content than the one that is kept. */
  readonly mismatched: Set<string> = new Set();
  /** Tries that were answered with 503, or not at all. */
  readonly retried: Record<string, number> = {};
  /** Answers that no sender may get. */
  readonly problems: string[] = [];
  readonly #options: SendersOptions;
  readonly #agent: Agent;
  #next = 0;
  #done = 0;
  #heardAtMs = performance.now();

  constructor(options: SendersOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  }

  /** Resolves once every delivery is over. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.connections }, () => this.#work()));
    this.#agent.destroy();
  }

  async #work(): Promise<void> {
    const { deliveries, onDone } = this.#options;
    for (let delivery = deliveries[this.#next++]; delivery !== undefined; delivery = deliveries[this.#next++]) {
      await this.#deliver(delivery);
      onDone((this.#done += 1));
    }
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { chance } = this.#options;
    for (let tries = 1; ; tries += 1) {
      const told = await this.#send(delivery);
      if (typeof told !== "string" && told.status !== 503 && told.status !== 408) return this.#hear(delivery, told);
      const cause = typeof told === "string" ? told : causeOf(told);
      this.retried[cause] = (this.retried[cause] ?? 0) + 1;
      if (delivery.forgetful) return;
      await setTimeout(chance.below(Math.min(20 * tries, 1_000)));
    }
  }

  #hear(message: Message, { status, text }: Answer): void {
    const name = nameOf(message);
    const { outcome, mismatch = false } = readOutcome(text);
    if ((status !== 200 && status !== 202) || outcome === undefined) {
      this.problems.push(`${name} was answered ${status} ${text}`);
      return;
    }
    const now = performance.now();
    this.silenceMs = Math.max(this.silenceMs, Math.round(now - this.#heardAtMs));
    this.#heardAtMs = now;
    this.acknowledged += 1;
    this.known.add(name);
    if (mismatch) this.mismatched.add(name);
    if (outcome === "duplicate") return;
    const times = (this.first.get(name) ?? 0) + 1;
    this.first.set(name, times);
    if (times > 1) this.problems.push(`${name} was told ${times} times that it is new`);
  }

  #send(message: Message): Promise<Answer | string> {
    const ready = this.#options.receivers.filter(({ url }) => url !== undefined);
    if (ready.length === 0) return Promise.resolve("no receiver");
    return post(this.#options.chance.pick(ready), message, this.#agent);
  }
}

/** Node answers a request that came too slowly by itself, with no body. */
function causeOf({ status, text }: Answer): string {
  return status === 408 ? "408" : (JSON.parse(text) as { error: string }).error;
}

/** Sends once; gives the status, or what kept an answer away. */
export async function sendOnce(receiver: Member, message: Message): Promise<number | string> {
  const answer = await post(receiver, message, new Agent());
  return typeof answer === "string" ? answer : answer.status;
}

/** The answer, or what kept it away. */
function post({ url }: Member, { shop, body }: Message, agent: Agent): Promise<Answer | string> {
  const { promise, resolve } = Promise.withResolvers<Answer | string>();
  const headers = { "content-type": "application/json", "x-signature": signature(body) };
  const sent = request(`${url}/hooks/${shop}`, { agent, method: "POST", headers, timeout: 30_000 }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
    response.once("close", () => resolve("no whole answer"));
  });
  sent.once("timeout", () => sent.destroy(Object.assign(new Error("timeout"), { code: "timeout" })));
  sent.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  sent.end(body);
  return promise;
}

export function nameOf({ shop, id }: Pick<Message, "shop" | "id">): string {
  return `${shop}/${id}`;
}

function signature(body: string): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

function readOutcome(text: string): Outcome {
  try {
    return JSON.parse(text) as Outcome;
  } catch {
    return {};
  }
}
