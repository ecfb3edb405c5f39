/** A deployment under load: nobody who was acknowledged is forgotten, and nobody is cut off. */
import { signDelivery, stripe } from "counterfoil/providers";
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { headerValues, openRaw, type RawConnection, requestBytes } from "../../src/testing/raw-http.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { openShop, type Shop } from "../cli/command.ts";
import { storeAt } from "../support/engine.ts";
import { rawRequest, startHooks } from "../support/hooks-server.ts";
import { payment } from "../support/order-app.ts";

/** Senders that keep their connections and go to the next server once the one they use says close. */
class Senders {
  readonly answers = new Map<string, number>();
  readonly #shop: Shop;
  readonly #ports: readonly number[];
  #ended = false;

  constructor(shop: Shop, ports: readonly number[]) {
    this.#shop = shop;
    this.#ports = ports;
  }

  async run(sender: number): Promise<void> {
    let server = 0;
    let connection = await openRaw(this.#ports[server]!);
    for (let n = 0; !this.#ended; n += 1) {
      const kept = await this.#post(connection, `evt-${sender}-${n}`);
      if (kept) continue;
      server = Math.min(server + 1, this.#ports.length - 1);
      connection = await openRaw(this.#ports[server]!);
    }
    await connection[Symbol.asyncDispose]();
  }

  end(): void {
    this.#ended = true;
  }

  /** Delivers one event; gives whether its connection is kept. */
  async #post(connection: RawConnection, id: string): Promise<boolean> {
    const data = { object: { id, metadata: { order: id } } };
    const delivery = signDelivery(stripe.rules, this.#shop.env["SHOP_SECRET"]!, {
      body: Buffer.from(JSON.stringify({ id, type: "payment_intent.succeeded", data })),
      timestampMs: Date.now(),
    });
    await connection.send(requestBytes(rawRequest(delivery, {})));
    const answer = await connection.read();
    this.answers.set(id, answer.status);
    return !headerValues(answer, "connection").includes("close");
  }
}

test("a signal under load resets no connection, and every event that was acknowledged has its receipt", async () => {
  const shop = await openShop();
  const [old, next] = [await shop.serve("--log", "silent", "--lame-duck", "3s"), await shop.serve("--log", "silent")];
  const senders = new Senders(
    shop,
    [old, next].map(({ url }) => Number(new URL(url).port)),
  );
  const running = Promise.all(Array.from({ length: 8 }, (_, sender) => senders.run(sender)));
  await eventually(() => senders.answers.size > 20);
  old.child.kill("SIGTERM");
  await eventually(async () => (await fetch(`${old.url}/health/ready`)).status === 503);
  expect(await old.end()).toMatchObject({ code: 0 });
  const answered = senders.answers.size;
  await eventually(() => senders.answers.size > answered + 20);
  senders.end();
  // Rejects where a connection was refused or reset.
  await running;
  expect(new Set(senders.answers.values())).toEqual(new Set([200]));
  const store = storeAt(shop.env["SHOP_DATABASE"]!);
  await store.open();
  const { receipts } = await store.reader.counts();
  await store.close();
  expect(receipts).toEqual({ applied: senders.answers.size });
}, 180_000);

test("a request in flight is answered while its server stops, and kept connections do not hold it up", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  await using hooks = await startHooks({ clock, limits: { graceMs: 3_600_000 } });
  const request = requestBytes(rawRequest(payment("evt-1"), {}));
  await using idle = await openRaw(hooks.port);
  await using busy = await openRaw(hooks.port);
  await idle.send(requestBytes({ method: "GET", path: "/health/live" }));
  expect(headerValues(await idle.read(), "connection")).toEqual(["keep-alive"]);
  await busy.send(request.subarray(0, -10));
  // The time limit of a request that is being read.
  await eventually(() => clock.pendingTimers === 1);
  const stopped = hooks.app.stop();
  expect(await hooks.app.ready()).toBe(false);
  await busy.send(request.subarray(-10));
  const answer = await busy.read();
  expect([answer.status, headerValues(answer, "connection")]).toEqual([200, ["close"]]);
  expect(await idle.rest()).toEqual(Buffer.alloc(0));
  await stopped;
});
