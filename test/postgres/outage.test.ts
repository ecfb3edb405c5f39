/**
 * The database is gone for a while: receivers say so at once, health tells the truth, and everything goes
 * on by itself when it is back, in the same processes.
 */
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { messageOf } from "../soak/facts.ts";
import type { Member } from "../soak/fleet.ts";
import { sendOnce } from "../soak/senders.ts";
import { openShop } from "../soak/shop.ts";
import { type PostgresProcess, startPostgres } from "../support/postgres-process.ts";
import { ask } from "../support/postgres-query.ts";

const slow = { withinMs: 120_000 };

async function fleet() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const server = stack.use(await startPostgres({ fsync: false }));
  const url = server.url();
  const shop = stack.use(await openShop({ address: url, run: (text) => ask(url, text) }));
  const [receiver, worker] = [shop.serve("receiver"), shop.serve("worker")];
  await eventually(() => receiver.url !== undefined && worker.healthUrl !== undefined, slow);
  const pids = [receiver.pid, worker.pid];
  return { server, shop, receiver, worker, pids };
}

type Fleet = Awaited<ReturnType<typeof fleet>>;

/** Sends the events of one order: placed, and paid, so that a shipment is owed. */
async function order({ receiver }: Fleet, id: string): Promise<readonly (number | string)[]> {
  const facts = [
    { type: "order.placed", order: id },
    { type: "order.paid", order: id },
  ] as const;
  const answers: (number | string)[] = [];
  for (const fact of facts) answers.push(await sendOnce(receiver, messageOf("north", `${id}-${fact.type}`, fact)));
  return answers;
}

const health = async ({ healthUrl }: Member) =>
  Promise.all(["live", "ready"].map(async (what) => (await fetch(`${healthUrl}/health/${what}`)).ok));

async function isBack(all: Fleet, id: string): Promise<void> {
  await eventually(async () => (await order(all, id)).every((answer) => answer === 200), slow);
  await eventually(async () => (await all.shop.ledger.open()).length === 0, slow);
  expect(all.shop.carrier.counts().byRef[`north/${id}/fulfil/v1`]).toMatchObject({ effects: 1 });
  await eventually(async () => (await health(all.worker)).every(Boolean), slow);
  await eventually(async () => (await health(all.receiver)).every(Boolean), slow);
  expect([all.receiver.pid, all.worker.pid]).toEqual(all.pids);
  expect([all.receiver.failure, all.worker.failure]).toEqual([undefined, undefined]);
}

test.each<
  readonly [
    string,
    (server: PostgresProcess) => Promise<void> | void,
    (server: PostgresProcess) => Promise<void> | void,
  ]
>([
  ["is stopped, and started again", (server) => server.stop(), (server) => server.start()],
  ["is killed, and started again", (server) => server.kill(), (server) => server.start()],
  ["hangs, and goes on", (server) => server.pause(), (server) => server.resume()],
])("a database that %s: 503 meanwhile, live and not ready, and then all goes on by itself", async (_, away, back) => {
  const all = await fleet();
  await isBack(all, "order-1");
  await away(all.server);
  // What was ready a moment ago is believed for that long.
  await eventually(async () => !(await health(all.receiver))[1] && !(await health(all.worker))[1], slow);
  // Longer than any statement is waited for, so that a loop which hangs would show.
  for (let n = 0; n < 3; n += 1) {
    expect(await order(all, "order-2")).toEqual([503, 503]);
    expect(await health(all.receiver)).toEqual([true, false]);
    expect(await health(all.worker)).toEqual([true, false]);
  }
  await back(all.server);
  await isBack(all, "order-2");
  const effects = Object.values(all.shop.carrier.counts().byRef).map((each) => each.effects);
  expect(effects).toEqual([1, 1]);
});
