import type { LookupAddress } from "node:dns";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { patientResolve } from "./patient-resolve.ts";
import type { Resolve } from "./ssrf-guard.ts";

const found: readonly LookupAddress[] = [{ address: "93.184.216.34", family: 4 }];

/** The system's resolver: each question holds one of two threads until it is answered, and others wait for one. */
class Threads {
  readonly begun: string[] = [];
  readonly dead: Set<string> = new Set();
  readonly #waiting: (() => void)[] = [];
  readonly #holding: { readonly name: string; readonly end: () => void }[] = [];

  readonly resolve: Resolve = (name) =>
    new Promise((resolve, reject) => {
      const fail = (): void => reject(Object.assign(new Error("x"), { code: "EAI_AGAIN" }));
      this.#waiting.push(() => {
        this.begun.push(name);
        this.#holding.push({ name, end: this.dead.has(name) ? fail : () => resolve(found) });
      });
      this.#go();
    });

  get held(): readonly string[] {
    return this.#holding.map(({ name }) => name);
  }

  /** The system gives up on every dead name that holds a thread. */
  async giveUp(): Promise<void> {
    for (const { end } of this.#holding.splice(0)) end();
    this.#go();
    await turns();
  }

  #go(): void {
    while (this.#holding.length < 2 && this.#waiting.length > 0) {
      this.#waiting.shift()?.();
      const last = this.#holding.at(-1);
      if (last && !this.dead.has(last.name)) this.#holding.pop()?.end();
    }
  }
}

async function turns(): Promise<void> {
  for (let n = 0; n < 4; n += 1) await setImmediate();
}

interface Kit {
  readonly clock: VirtualClock;
  readonly threads: Threads;
  /** Asks for each name, and gives those that were answered, with addresses, by now. */
  readonly ask: (...names: readonly string[]) => Promise<readonly string[]>;
}

function kit(...dead: readonly string[]): Kit {
  const [clock, threads] = [new VirtualClock(), new Threads()];
  for (const name of dead) threads.dead.add(name);
  const resolve = patientResolve(threads.resolve, { clock, connectMs: 5_000 });
  const ask = async (...names: readonly string[]): Promise<readonly string[]> => {
    const answered: string[] = [];
    for (const name of names) {
      resolve(name).then(
        () => answered.push(name),
        () => undefined,
      );
    }
    await turns();
    return answered;
  };
  return { clock, threads, ask };
}

test("a name is asked for once at a time, whoever waits for it", async () => {
  const { threads, ask } = kit("dead.example");
  expect(await ask("dead.example", "dead.example", "live.example", "dead.example")).toEqual(["live.example"]);
  expect(threads.begun).toEqual(["dead.example", "live.example"]);
  await threads.giveUp();
  await ask("live.example", "dead.example");
  expect(threads.begun).toEqual(["dead.example", "live.example", "live.example", "dead.example"]);
});

test("names that took longer than a call waits hold one thread together, and no name that answers waits for them", async () => {
  const { clock, threads, ask } = kit("a.example", "b.example", "c.example");
  for (const names of [["a.example", "b.example"], ["c.example"]]) {
    await ask(...names);
    clock.advance(5_000);
    await threads.giveUp();
  }
  expect(await ask("a.example", "b.example", "c.example", "live.example")).toEqual(["live.example"]);
  expect(threads.held).toEqual(["a.example"]);
  await threads.giveUp();
  expect(threads.held).toEqual(["b.example"]);
});

test("a name that answers in time again waits for no other", async () => {
  const { clock, threads, ask } = kit("a.example", "b.example");
  await ask("a.example", "b.example");
  clock.advance(5_000);
  await threads.giveUp();
  threads.dead.delete("b.example");
  expect(await ask("b.example")).toEqual(["b.example"]);
  expect(await ask("a.example", "b.example")).toEqual(["b.example"]);
  expect(clock.pendingTimers).toBe(1);
});
