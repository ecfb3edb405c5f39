/** One process of the application: receiver and worker, on a database that it shares with another. */
import { setImmediate } from "node:timers/promises";
import type { App, Store } from "counterfoil";
import { applyDue } from "../../src/inbox/apply-due.ts";
import { Caller } from "../../src/outbox/caller.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { Worker } from "../../src/worker/worker.ts";
import { storeAt } from "../support/engine.ts";
import { type Activity, until } from "./activity.ts";
import type { Sent } from "./facts.ts";
import { Flight } from "./flight.ts";
import { ProcessClock } from "./process-clock.ts";
import { type Shop, shop, type ShopOptions } from "./shop.ts";

/** What a process runs on. */
export interface ProcessOptions extends Pick<ShopOptions, "random" | "emit" | "mischief" | "urls"> {
  readonly name: string;
  readonly address: string;
  readonly machine: VirtualClock;
  /** What the clock of the database's server shows, where it has one. */
  readonly serverMs: () => number;
  readonly activity: Activity;
  /** Requests that wait at a provider now. */
  readonly held: () => number;
  /** Told of each call that a worker claimed, by its address. */
  readonly calls: (url: string) => void;
  /** Told of each operation whose success a worker heard of. */
  readonly succeeded: (ref: string) => void;
}

/** What a sender was answered. */
export interface Response {
  readonly status: number;
  readonly body: unknown;
}

export class Process {
  readonly shop: Shop;
  /** Stopped by its machine: nothing of it runs, while time goes on. */
  asleep = false;
  readonly #options: ProcessOptions;
  readonly #clock: ProcessClock;
  readonly #store: Store;
  readonly #caller: Caller;
  #flights: Flight[] = [];

  constructor(options: ProcessOptions) {
    const { activity, machine, address, serverMs } = options;
    this.#options = options;
    this.#clock = new ProcessClock(machine);
    const clock = this.#clock;
    const probe = (): void => activity.note();
    this.#store = activity.watch(storeAt(address, { clock, probe, serverMs }));
    this.shop = shop({ ...options, store: this.#store, clock, probe });
    this.#caller = new Caller({ clock, limits: this.app.runtime.limits, idleMs: 4_000 });
  }

  /** Starts it; its loops have run once when this resolves. */
  static async start(options: ProcessOptions): Promise<Process> {
    const process = new Process(options);
    await process.app.open();
    process.#startWorker();
    await options.activity.quiet();
    return process;
  }

  get name(): string {
    return this.#options.name;
  }

  get app(): App {
    return this.shop.app;
  }

  /** Calls that it has not heard of. */
  get flights(): readonly Flight[] {
    this.#flights = this.#flights.filter(({ state }) => state !== "heard");
    return this.#flights;
  }

  async post({ scope, headers, body }: Sent): Promise<Response> {
    const request = new Request(`http://shop.example/hooks/${scope.connection}`, { method: "POST", headers, body });
    const response = await this.app.fetch(request);
    return { status: response.status, body: await response.json() };
  }

  /** Fires its timers that are due, and lets it do what follows. */
  async tick(): Promise<void> {
    this.#clock.fireDue();
    await this.#options.activity.quiet();
  }

  /** Lets the calls that it claimed go out, one after the other, until each has ended or hangs. */
  async launch(): Promise<void> {
    const { held } = this.#options;
    for (const flight of this.flights.filter(({ state }) => state === "claimed")) {
      const before = held();
      flight.launch();
      await until(() => flight.state === "landed" || held() > before, "a call ends or hangs");
    }
  }

  /** Lets it hear of the calls that have ended; gives whether there were any. */
  async hear(): Promise<boolean> {
    const landed = this.flights.filter(({ state }) => state === "landed");
    for (const flight of landed) {
      flight.deliver();
      if (flight.succeeded) this.#options.succeeded(flight.ref);
    }
    await this.#options.activity.quiet();
    return landed.length > 0;
  }

  /** Does what is due, and what that makes due at once, as a process does that runs freely. */
  async work(): Promise<void> {
    await this.tick();
    do await this.launch();
    while (await this.hear());
  }

  /** Works until its claims are made, its calls are answered, or it has heard; `asked` does nothing. */
  async workUntil(reached: "asked" | "claimed" | "called" | "heard"): Promise<void> {
    if (reached === "heard") return this.work();
    if (reached !== "asked") await this.tick();
    if (reached === "called") await this.launch();
  }

  /** Ends as by SIGKILL: its sockets close, its leases stay, and nobody hears of its calls. */
  async crash(): Promise<void> {
    this.#clock.die();
    this.#caller.close();
    this.#flights = [];
    await this.#store.close();
    // Its sockets close in turns of the event loop, which the next step must not meet.
    await setImmediate();
  }

  #startWorker(): void {
    const { runtime, connections } = this.app;
    const { name, activity, calls } = this.#options;
    const worker = new Worker(runtime, {
      name,
      applyDue: () => applyDue({ runtime, connections }),
      call: (request, options) => {
        calls(request.url);
        const flight = new Flight(this.#caller, request, options);
        this.#flights.push(flight);
        activity.note();
        return flight.heard;
      },
    });
    worker.start();
  }
}
