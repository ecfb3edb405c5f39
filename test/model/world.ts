/** One machine with two processes on one database, its providers, and the reference beside them. */
import { expect } from "vitest";
import type { ObligationDetail, StoreReader } from "../../src/store/reader.ts";
import { seededRandom } from "../../src/testing/random.ts";
import { machineClocks, storeAt, type TemporaryDatabase, temporaryDatabase } from "../support/engine.ts";
import { Activity } from "./activity.ts";
import { Carriers, keyLifetimeMs } from "./carriers.ts";
import { Machine } from "./machine.ts";
import { Process } from "./process.ts";
import { ReferenceProvider } from "./reference-provider.ts";
import { Reference } from "./reference.ts";
import { createTables, type Mischief, shop, type Shop } from "./shop.ts";
import type { Telemetry } from "./telemetry.ts";

/** Between two turns of a process whose calls hang: often enough that it renews its leases. */
const turnMs = 4_000;

const serverStartMs = Date.UTC(2026, 0, 1);

export interface WorldOptions {
  /** Seed of the processes' own chance. */
  readonly chance: number;
  readonly telemetry: Telemetry;
}

export class World implements AsyncDisposable {
  readonly machine: Machine;
  readonly carriers: Carriers;
  readonly provider: ReferenceProvider;
  readonly telemetry: Telemetry;
  readonly activity: Activity = new Activity();
  readonly reference: Reference = new Reference();
  /** Obligations as they were seen last. */
  readonly seen: Map<number, ObligationDetail> = new Map();
  readonly mischief: Mischief = { spoiled: this.reference.spoiled, hookFails: false };
  /** Looks on, and never works. */
  readonly observer: Shop;
  readonly #random: () => number;
  readonly #database: TemporaryDatabase;
  /** The server stands elsewhere: nobody sets its clock, and it goes on while this machine is off. */
  readonly #serverMs = (): number => serverStartMs + this.machine.trueMs();
  #processes: readonly Process[] = [];
  #started = 0;

  constructor(
    { chance, telemetry }: WorldOptions,
    parts: Pick<World, "machine" | "carriers" | "provider"> & { readonly database: TemporaryDatabase },
  ) {
    this.machine = parts.machine;
    this.carriers = parts.carriers;
    this.provider = parts.provider;
    this.telemetry = telemetry;
    this.#database = parts.database;
    this.#random = seededRandom(chance).next;
    const { clock } = this.machine;
    this.observer = shop({
      ...this.#surroundings,
      store: storeAt(this.#database.address, { clock, serverMs: this.#serverMs }),
      clock,
      probe: () => undefined,
    });
  }

  static async start(options: WorldOptions): Promise<World> {
    const machine = new Machine();
    const provider = new ReferenceProvider({ keyLifetimeMs });
    const carriers = await Carriers.start({ reference: provider, nowMs: () => machine.trueMs() });
    const world = new World(options, {
      machine,
      carriers,
      provider,
      database: await temporaryDatabase({ inMemory: true }),
    });
    await createTables(world.observer.app);
    await world.#start();
    return world;
  }

  get reader(): StoreReader {
    return this.observer.app.runtime.store.reader;
  }

  get processes(): readonly Process[] {
    return this.#processes;
  }

  /** The process at this place, or the other where it is asleep: one is always awake. */
  awake(place: number): Process {
    const awake = [this.#processes[place], this.#processes[1 - place]].find((process) => process?.asleep === false);
    if (!awake) throw new Error("Bug: both processes are asleep");
    return awake;
  }

  /** Stops a process, unless the other is stopped already. */
  fallAsleep(process: Process): void {
    process.asleep = this.#processes.every(({ asleep }) => !asleep);
  }

  /** Calls for an operation that were claimed and have not gone out. */
  claimed(ref: string): number {
    const flights = this.#processes.flatMap((process) => process.flights);
    return flights.filter((flight) => flight.ref === ref && flight.state === "claimed").length;
  }

  /** Time goes on, and who is awake works. */
  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0;) {
      const awake = this.#processes.filter(({ asleep }) => !asleep);
      const passedMs = awake.some(({ flights }) => flights.length > 0) ? Math.min(leftMs, turnMs) : leftMs;
      this.machine.skip(passedMs);
      leftMs -= passedMs;
      for (const process of awake) await process.work();
    }
  }

  /** A process dies; another one takes its place. */
  async crash(process: Process): Promise<void> {
    await process.crash();
    const next = await this.#startProcess();
    this.#processes = this.#processes.map((each) => (each === process ? next : each));
  }

  /** The power goes and comes back. */
  async reboot(downMs: number): Promise<void> {
    if (!this.machine.reboot(downMs)) return;
    for (const process of this.#processes) await process.crash();
    await this.#start();
    if (machineClocks) await this.#assertNoLeaseOfTheDead();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const process of this.#processes) await process.crash();
    await this.observer.app.stop();
    await this.carriers[Symbol.asyncDispose]();
    await this.#database[Symbol.asyncDispose]();
  }

  /** Whoever held a lease in another boot is dead, which who starts first takes note of. */
  async #assertNoLeaseOfTheDead(): Promise<void> {
    const living = this.#processes.map(({ name }) => name);
    for (const { tenant, operationKey } of await this.reader.obligations({}, { limit: 500 })) {
      const holder = (await this.reader.obligation(tenant, operationKey))?.lease?.worker;
      if (holder !== undefined) expect(living, `holder of ${operationKey}`).toContain(holder);
    }
  }

  get #surroundings() {
    return {
      random: this.#random,
      emit: (event: Parameters<Telemetry["hear"]>[0]) => {
        this.activity.note();
        this.telemetry.hear(event);
      },
      mischief: this.mischief,
      urls: this.carriers.urls,
    };
  }

  async #start(): Promise<void> {
    this.#processes = [await this.#startProcess(), await this.#startProcess()];
  }

  #startProcess(): Promise<Process> {
    this.#started += 1;
    const { activity, carriers, provider, telemetry } = this;
    return Process.start({
      ...this.#surroundings,
      name: `process-${this.#started}`,
      address: this.#database.address,
      machine: this.machine.clock,
      serverMs: this.#serverMs,
      activity,
      held: () => carriers.held,
      calls: (url) => telemetry.calls(url),
      succeeded: (ref) => provider.succeeds(ref, this.claimed(ref)),
    });
  }
}
