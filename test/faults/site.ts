/** A receiver on a disk of its own, its senders, and what must be true of its books once the power is back. */
import type { App } from "counterfoil";
import { type FakeProvider, startFakeProvider } from "counterfoil/testing";
import { eventually } from "../../src/testing/eventually.ts";
import { type ChildProcess, startProcess } from "../../src/testing/processes.ts";
import { rawExchange } from "../../src/testing/raw-http.ts";
import { addOrder, clockAhead, crashApp, crashPayment, createOrders } from "../support/crash-app.ts";
import { rawRequest } from "../support/hooks-server.ts";
import { type PostgresProcess, startPostgres } from "../support/postgres-process.ts";
import { XfsDisk } from "./xfs-disk.ts";

export type Engine = "sqlite" | "postgres";

const senders = 8;

/** Orders that are there before they are paid for; the events of the others wait. */
const isPlaced = (number: number): boolean => number % 3 !== 0;
/** One in four is shipped by a carrier that keeps no keys, and is asked what it did. */
const orderOf = (number: number): string => `${number % 4 === 0 ? "keyless" : "keyed"}-${number}`;

export interface Verdict {
  readonly acknowledged: number;
  /** Kept, although no answer said so. */
  readonly unsaid: number;
  readonly lost: readonly string[];
  readonly problems: readonly string[];
}

export class Site implements AsyncDisposable {
  readonly acknowledged: Set<string> = new Set();
  readonly disk: XfsDisk;
  readonly receiver: ChildProcess;
  readonly server: PostgresProcess | undefined;
  readonly #address: string;
  readonly #carrier: FakeProvider;
  readonly #port: number;
  readonly #stack: AsyncDisposableStack;
  #sent = 0;
  #refused = 0;

  private constructor(parts: Pick<Site, "disk" | "receiver" | "server"> & SiteParts) {
    this.disk = parts.disk;
    this.receiver = parts.receiver;
    this.server = parts.server;
    this.#address = parts.address;
    this.#carrier = parts.carrier;
    this.#port = parts.port;
    this.#stack = parts.stack;
  }

  /** A receiver that is ready, with the first orders placed. */
  static async start(engine: Engine, { orders }: { readonly orders: number }): Promise<Site> {
    await using stack = new AsyncDisposableStack();
    const disk = stack.use(new XfsDisk());
    const server = engine === "postgres" ? stack.use(await startPostgres({ parent: disk.path })) : undefined;
    const address = server?.url() ?? `${disk.path}/store.db`;
    const carrier = stack.use(await startFakeProvider({ contract: "keeps" }));
    const app = crashApp({ address, carrier: carrier.url });
    await app.runtime.store.migrate();
    await createOrders(app);
    await app.transaction({ tenant: "acme" }, async ({ tx }) => {
      for (let number = 1; number <= orders; number += 1) {
        if (isPlaced(number)) await tx.sql`INSERT INTO orders (id) VALUES (${orderOf(number)})`;
      }
    });
    await app.stop();
    disk.sync();
    const file = new URL("children/serve.ts", import.meta.url);
    const receiver = stack.use(startProcess(file, { arguments: [address, carrier.url] }));
    const port = Number(await receiver.ask("listen"));
    return new Site({ disk, receiver, server, address, carrier, port, stack: stack.move() });
  }

  /** Events that were sent so far. */
  get sent(): number {
    return this.#sent;
  }

  /** Deliveries that were not acknowledged so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Who writes to the disk. */
  get writers(): readonly number[] {
    return this.server?.family ?? [this.receiver.pid].filter((pid) => pid !== undefined);
  }

  /** Sends new events from several senders at once while this is wanted, and gives how many were acknowledged. */
  async send(wanted: () => boolean): Promise<{ readonly sent: number; readonly acknowledged: number }> {
    const before = { sent: this.#sent, acknowledged: this.acknowledged.size };
    await concurrently(async () => {
      while (wanted()) await this.#deliver((this.#sent += 1));
    });
    return { sent: this.#sent - before.sent, acknowledged: this.acknowledged.size - before.acknowledged };
  }

  /** Senders try again what was not acknowledged, until all of it is. */
  async sendAgain(): Promise<void> {
    await eventually(
      async () => {
        const left = this.#all.filter((number) => !this.acknowledged.has(orderOf(number)));
        await concurrently(async () => {
          for (let number = left.pop(); number !== undefined; number = left.pop()) await this.#deliver(number);
        });
        return this.acknowledged.size === this.#sent;
      },
      { withinMs: 120_000, what: "the acknowledgement of everything" },
    );
  }

  /** A server that ended by itself is started again, as its supervisor does. The receiver is nobody's to start. */
  async serverIsBack(): Promise<void> {
    if (this.server?.isOver === true) await this.server.start();
  }

  /** Events come until the power is gone and each sender has been told of it. */
  async cutAt(acknowledged: number): Promise<void> {
    let refusedAtCut: number | undefined;
    await this.send(() => {
      if (this.acknowledged.size >= acknowledged && refusedAtCut === undefined) {
        this.disk.cut();
        refusedAtCut = this.#refused;
      }
      return refusedAtCut === undefined || this.#refused < refusedAtCut + senders;
    });
  }

  /**
   * The power is back, and all processes are new. What the disk kept is compared with what was acknowledged;
   * then every sender tries again, and all is worked off.
   */
  async recover(): Promise<Verdict> {
    await this.receiver.kill();
    // A server that cannot write its log may have ended itself.
    if (this.server?.isOver === false) await this.server.kill();
    await eventually(() => this.disk.restore() === undefined, { what: "that nobody has a file open" });
    await this.server?.start();
    const app = crashApp({ address: this.#address, carrier: this.#carrier.url, clock: clockAhead(120_000) });
    try {
      await app.open();
      const { lost, unsaid } = await this.#compare(app);
      for (const number of this.#all) {
        await addOrder(app, orderOf(number));
        await app.receive("stripe", deliveryOf(number));
      }
      await app.start({ roles: ["worker"] });
      await this.#settled(app);
      return { acknowledged: this.acknowledged.size, unsaid, lost, problems: await this.#problems(app) };
    } finally {
      await app.stop();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }

  get #all(): number[] {
    return Array.from({ length: this.#sent }, (_, index) => index + 1);
  }

  async #deliver(number: number): Promise<void> {
    const request = rawRequest(deliveryOf(number), {});
    try {
      const answer = await rawExchange(this.#port, request);
      if (answer.status >= 200 && answer.status < 300) return void this.acknowledged.add(orderOf(number));
      this.#refused += 1;
    } catch {
      // No answer is no acknowledgement.
      this.#refused += 1;
    }
  }

  async #compare(app: App): Promise<{ readonly lost: readonly string[]; readonly unsaid: number }> {
    const kept = new Set<string>();
    for (const number of this.#all) {
      const order = orderOf(number);
      const found = await app.runtime.store.reader.receipts(
        { connection: "stripe", eventId: `evt-${order}` },
        { limit: 2 },
      );
      if (found.length > 0) kept.add(order);
    }
    const lost = [...this.acknowledged].filter((order) => !kept.has(order));
    return { lost, unsaid: kept.size - (this.acknowledged.size - lost.length) };
  }

  async #settled(app: App): Promise<void> {
    const operator = app.operator({ who: "power" });
    await eventually(
      async () => {
        const { receipts, obligations } = await operator.status();
        return receipts.applied === this.#sent && obligations.done === this.#sent;
      },
      { withinMs: 180_000, what: `that ${this.#sent} events are applied and their shipments done` },
    );
  }

  /** Each order is paid, and shipped once, under the number that the carrier gave. */
  async #problems(app: App): Promise<readonly string[]> {
    const orders = await app.transaction({ tenant: "acme" }, async ({ tx }) => [
      ...(await tx.sql<{ id: string; status: string; tracking: string | null }>`
        SELECT id, status, tracking FROM orders WHERE status = 'paid'`),
    ]);
    const problems = orders.flatMap(({ id, tracking }) => {
      const effects = this.#carrier.effects.filter(({ ref }) => ref === `acme/${id}/fulfil/v1`);
      if (effects.length !== 1) return [`${id} was shipped ${effects.length} times`];
      return effects[0]?.id === tracking ? [] : [`${id} has the tracking number ${tracking}, not its shipment's`];
    });
    return orders.length === this.#sent ? problems : [...problems, `${orders.length} of ${this.#sent} are paid`];
  }
}

interface SiteParts {
  readonly address: string;
  readonly carrier: FakeProvider;
  readonly port: number;
  readonly stack: AsyncDisposableStack;
}

function deliveryOf(number: number): ReturnType<typeof crashPayment> {
  return crashPayment(`evt-${orderOf(number)}`, orderOf(number));
}

async function concurrently(run: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: senders }, run));
}
