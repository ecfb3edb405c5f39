/**
 * The soak: a fleet of receivers and workers on one database, senders that repeat themselves and come in
 * disorder, providers that lose answers, and incidents throughout. In the end everything has to be as the
 * reference says, and nothing may have been told to a sender that did not hold.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FakeProvider, Fault } from "counterfoil/testing";
import { durationMs } from "../../src/domain/duration.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { type SeededRandom, seededRandom } from "../../src/testing/random.ts";
import type { Books } from "./books.ts";
import { Chaos, type ChaosOptions } from "./chaos.ts";
import { type Asked, isProvidersBreach, settleDelay } from "./doubles.ts";
import { planDeliveries } from "./facts.ts";
import type { Member } from "./fleet.ts";
import { Senders } from "./senders.ts";
import { openShop, type Shop } from "./shop.ts";
import { verify, type Verified } from "./verify.ts";

export interface SoakOptions {
  readonly books: Books;
  readonly receivers: number;
  readonly workers: number;
  readonly deliveries: number;
  /** Of everything that chance decides, but for the order in which processes run. */
  readonly seed: number;
  /** Senders at the same time; 8 for each receiver unless given. */
  readonly connections?: number;
  /** Deliveries between two incidents. */
  readonly calm: number;
  /** Incidents of the database, beside those of the processes. */
  readonly incidents?: ChaosOptions["ofDatabase"];
  /** What the server logged, each line under its SQLSTATE. */
  readonly serverLog?: () => string;
  /** Called once, in the middle of the deliveries. */
  readonly midway?: () => Promise<unknown>;
  readonly onProgress?: (line: string) => void;
  /** How long what is owed may take when all is delivered. */
  readonly drainMs?: number;
}

export interface SoakReport extends Verified {
  readonly acknowledged: number;
  /** Tries that were not acknowledged, by cause. */
  readonly retried: Readonly<Record<string, number>>;
  readonly incidents: Readonly<Record<string, number>>;
  /** Errors that the server told of, by SQLSTATE. */
  readonly states: Readonly<Record<string, number>>;
  readonly requests: number;
  readonly seconds: number;
  /** The longest time in which no delivery was acknowledged. */
  readonly silenceMs: number;
  /**
   * The longest time in which this process stood still, and with it the providers: beyond the courier's settle
   * delay its lookups may not see what it has.
   */
  readonly standstillMs: number;
  /** Effects that happened twice because the courier broke its promise, each with the proof. */
  readonly breaches: readonly string[];
}

export async function soak(options: SoakOptions): Promise<SoakReport> {
  await using shop = await openShop(options.books);
  return await new Soak(options, shop).run();
}

/** Of ninety requests. */
const faults: readonly Fault[] = [
  { when: "before", kind: "reset" },
  { when: "after", kind: "reset" },
  { when: "before", kind: "answer", status: 503 },
];

class Soak {
  readonly #options: SoakOptions;
  readonly #random: SeededRandom;
  readonly #shop: Shop;
  readonly #providers: readonly FakeProvider[];
  readonly #members: readonly Member[];
  readonly #chaos: Chaos;
  readonly #torn: string[] = [];
  readonly #stalls = monitorEventLoopDelay({ resolution: 20 });
  /** What providers were asked about each `ref`, and when. */
  readonly #asked: Map<string, Asked[]> = new Map();
  /** The incident under way, and those before it. */
  #incident: Promise<unknown> = Promise.resolve();

  constructor(options: SoakOptions, shop: Shop) {
    const { receivers, workers, seed, incidents: ofDatabase = [] } = options;
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#shop = shop;
    this.#providers = [shop.carrier, shop.courier];
    this.#members = [
      ...Array.from({ length: receivers }, () => shop.serve("receiver")),
      ...Array.from({ length: workers }, () => shop.serve("worker")),
    ];
    this.#chaos = new Chaos({ members: this.#members, chance: this.#random, ofDatabase });
  }

  async run(): Promise<SoakReport> {
    const { deliveries: count, onProgress } = this.#options;
    for (const provider of this.#providers) this.#loseAnswers(provider);
    this.#stalls.enable();
    const deliveries = planDeliveries(count, this.#random);
    await eventually(() => this.#members.every(({ healthUrl }) => healthUrl !== undefined), {
      withinMs: 300_000,
      what: "a fleet that is ready",
    });
    const startedMs = performance.now();
    const senders = new Senders({
      deliveries,
      receivers: this.#members.filter(({ role }) => role === "receiver"),
      chance: this.#random,
      connections: this.#options.connections ?? 8 * this.#options.receivers,
      onDone: (done) => this.#onDone(done),
    });
    await senders.run();
    await this.#incident;
    this.#chaos.calm();
    const seconds = (performance.now() - startedMs) / 1_000;
    onProgress?.(`all delivered after ${seconds.toFixed(0)} s`);
    await this.#drained();
    const verified = await verify({ ledger: this.#shop.ledger, deliveries, senders, providers: this.#providers });
    const standstillMs = Math.round(this.#stalls.max / 1e6);
    const { breaches, ours } = await this.#judge(verified.doubled);
    const problems = [...verified.problems, ...ours, ...this.#torn, ...(await this.#stop())];
    const { acknowledged, retried, silenceMs } = senders;
    const requests = this.#providers.reduce((sum, provider) => sum + provider.counts().requests, 0);
    const states = countStates(this.#options.serverLog?.() ?? "");
    const incidents = this.#chaos.counts;
    return {
      ...verified,
      problems,
      acknowledged,
      retried,
      incidents,
      states,
      requests,
      seconds,
      silenceMs,
      standstillMs,
      breaches,
    };
  }

  /** One answer in thirty is lost, before the effect or after it. */
  #loseAnswers(provider: FakeProvider): void {
    provider.failWhen(({ method, url, ref = new URL(url, provider.url).searchParams.get("ref") ?? "" }) => {
      const asked = this.#asked.get(ref) ?? [];
      const fault = faults[this.#random.below(90)];
      asked.push({ method, atMs: Date.now(), tookEffect: method === "POST" && fault?.when !== "before" });
      this.#asked.set(ref, asked);
      return fault;
    });
  }

  /** What took effect more than once, each with its history: the courier's breaches, and what is our doing. */
  async #judge(doubled: readonly string[]): Promise<{ readonly breaches: string[]; readonly ours: string[] }> {
    const [breaches, ours]: [string[], string[]] = [[], []];
    for (const name of doubled) {
      const attempts = await this.#shop.ledger.attempts(name);
      const asked = this.#asked.get(name) ?? [];
      const isBreach = isProvidersBreach({ attempts, asked, settleDelayMs: durationMs(settleDelay) });
      const history = `${JSON.stringify(attempts)}, the provider came to ${JSON.stringify(asked)}`;
      (isBreach ? breaches : ours).push(`${name} took effect more than once: ${history}`);
    }
    return { breaches, ours };
  }

  #onDone(done: number): void {
    const { deliveries, calm, midway, onProgress } = this.#options;
    if (done === Math.floor(deliveries / 2)) this.#next(async () => midway?.());
    if (done % calm === 0) this.#next(() => this.#strike());
    if (done % Math.ceil(deliveries / 20) === 0) onProgress?.(`${done} of ${deliveries} delivered`);
  }

  #next(incident: () => Promise<unknown>): void {
    this.#incident = this.#incident.then(incident);
  }

  async #strike(): Promise<void> {
    try {
      await this.#chaos.strike();
      this.#torn.push(...(await this.#shop.ledger.torn()));
    } catch (error) {
      this.#torn.push(`an incident failed: ${String(error)}`);
    }
  }

  /** Resolves once nothing is to be done any more. */
  async #drained(): Promise<void> {
    const { drainMs = 300_000 } = this.#options;
    let open: readonly string[] = [];
    const isDone = async (): Promise<boolean> => {
      open = await this.#shop.ledger.open();
      return open.length === 0;
    };
    try {
      await eventually(isDone, { withinMs: drainMs });
    } catch (cause) {
      const logs = this.#members.map(
        ({ role, pid, log, failure }) => failure ?? `${role} ${pid}: ${log.slice(-1_000)}`,
      );
      const left = `${open.length} things are not done, such as ${open.slice(0, 5).join(", ")}`;
      throw new Error([`Cannot go on: after ${drainMs} ms ${left}`, ...logs].join("\n"), { cause });
    }
  }

  async #stop(): Promise<readonly string[]> {
    const codes = await Promise.all(this.#members.map((member) => member.stop()));
    return this.#members.flatMap(({ role, pid, failure }, index) => [
      ...(failure === undefined ? [] : [failure]),
      ...(codes[index] === 0 ? [] : [`${role} ${pid} ended with ${codes[index]} when it was told to stop`]),
    ]);
  }
}

function countStates(log: string): Readonly<Record<string, number>> {
  const states = [...log.matchAll(/^(\w{5}) (?:ERROR|FATAL|PANIC):/gmu)].map(([, state = ""]) => state);
  return Object.fromEntries([...Map.groupBy(states, (state) => state)].map(([state, all]) => [state, all.length]));
}
