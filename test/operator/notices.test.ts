/** Somebody hears of each new thing that needs a person, once, whatever number of processes looks. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type App, type Attention, connect, defineApp, type OnAttention } from "counterfoil";
import { standardWebhooks } from "counterfoil/providers";
import { expect, onTestFinished, test } from "vitest";
import { describeAttention } from "../../src/operator/describe-attention.ts";
import { Notices } from "../../src/operator/notices.ts";
import { eventually } from "../../src/testing/eventually.ts";
import type { Desk } from "../outbox/office.ts";
import { storeAt, temporaryDatabase } from "../support/engine.ts";
import { noConnections } from "../support/no-connections.ts";
import { answered, open, operatorAt, target } from "./counter.ts";

/** What is told by whom, each item as "name state". */
function listener(): { readonly told: string[]; readonly at: (desk: Desk, fail?: () => void) => Notices } {
  const told: string[] = [];
  const at = (desk: Desk, fail = (): void => undefined): Notices =>
    new Notices({ runtime: desk.runtime, connections: noConnections(desk.runtime) }, async (items) => {
      fail();
      told.push(...items.map(describeAttention).map(({ name, state }) => `${name} ${state}`));
    });
  return { told, at };
}

const stuck = "acme order-1/fulfil/v1 stuck";

test("processes that look at the same time tell of a thing once, and one that starts later not again", async () => {
  const { office, desk } = await open();
  office.provider.failNext(answered(422));
  const { told, at } = listener();
  await at(desk).run();
  expect(told).toEqual([]);
  await desk.work();
  const other = await office.desk();
  await Promise.all([at(desk).run(), at(other).run()]);
  await at(await office.desk()).run();
  expect(told).toEqual([stuck]);
});

test("what was decided and needs a person once more is news", async () => {
  const { office, desk, operator } = await open();
  office.provider.failNext(answered(422));
  const { told, at } = listener();
  await desk.work();
  await at(desk).run();
  office.provider.failNext(answered(422));
  await operator.retry(target);
  await desk.work();
  await at(desk).run();
  await operatorAt(desk).cancel({ ...target, reason: "withdrawn" });
  await at(desk).run();
  expect(told).toEqual([stuck, stuck]);
});

test("what could not be told is told at the next look, by any process", async () => {
  const { office, desk } = await open();
  office.provider.failNext(answered(422));
  await desk.work();
  const { told, at } = listener();
  const failing = at(desk, () => {
    throw new Error("the pager is away");
  });
  await expect(failing.run()).rejects.toThrow("the pager is away");
  expect(told).toEqual([]);
  await at(await office.desk()).run();
  expect(told).toEqual([stuck]);
});

test("a listener that hangs is not waited for longer than a call, and is asked again", async () => {
  const { office, desk } = await open();
  office.provider.failNext(answered(422));
  await desk.work();
  let asked = false;
  const hanging = new Notices({ runtime: desk.runtime, connections: noConnections(desk.runtime) }, () => {
    asked = true;
    return new Promise<void>(() => undefined);
  });
  const running = expect(hanging.run()).rejects.toThrow("took longer than 30000 ms");
  await eventually(async () => asked && office.clock.pendingTimers > 0);
  office.clock.advance(30_000);
  await running;
  const { told, at } = listener();
  await at(desk).run();
  expect(told).toEqual([stuck]);
});

const secret = "whsec_c2lnbnMgd2hhdCBuZWVkcyBhIHBlcnNvbg==";

async function openApp(options: Pick<Parameters<typeof defineApp>[0], "connections" | "onAttention">): Promise<App> {
  const database = await temporaryDatabase();
  const app = defineApp({ store: storeAt(database.address), effects: [], ...options });
  onTestFinished(async () => {
    await app.stop();
    await database[Symbol.asyncDispose]();
  });
  return app;
}

async function paused(onAttention: OnAttention): Promise<App> {
  const app = await openApp({ connections: [], onAttention });
  await app.open();
  await app.runtime.store.transaction((tx) => tx.pauseDestination("https://carrier.example", "it answered 401"), {
    waitMs: 5_000,
  });
  return app;
}

test("a worker tells the application's own function", async () => {
  const told: Attention[] = [];
  const app = await paused((items) => void told.push(...items));
  await app.drain();
  await app.drain();
  expect(told).toMatchObject([{ kind: "destination", destination: "https://carrier.example" }]);
});

test("a URL is posted to, signed so that a receiver of Standard Webhooks takes it", async () => {
  const connection = connect("alerts", { provider: standardWebhooks, secrets: [secret], tenant: "us", handlers: [] });
  const receiver = await openApp({ connections: [connection] });
  const server = createServer(receiver.node);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const app = await paused({ url: `http://127.0.0.1:${port}/hooks/alerts`, secret });
  await app.drain();
  const operator = receiver.operator({ who: "test" });
  const receipts = await operator.receipts();
  expect(receipts).toMatchObject([{ type: "counterfoil.attention", eventId: expect.stringMatching(/^attention-/) }]);
  const { bytes } = await operator.payload(receipts[0]?.id ?? 0);
  expect(JSON.parse(Buffer.from(bytes).toString())).toEqual({
    type: "counterfoil.attention",
    items: [
      { kind: "destination", id: null, name: "https://carrier.example", state: "paused", reason: "it answered 401" },
    ],
  });
});

test("a URL that answers anything but 2xx is asked again, and telemetry says so", async () => {
  let posts = 0;
  const server = createServer((_request, response) => {
    posts += 1;
    response.writeHead(posts === 1 ? 500 : 200).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const app = await paused({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, secret });
  const failures: string[] = [];
  app.subscribe((event) => void (event.kind === "loop.failed" && failures.push(event.loop)));
  for (let run = 1; run <= 3; run += 1) await app.drain();
  expect([failures, posts]).toEqual([["attention"], 2]);
});

test("a URL without a secret, or that is none, keeps the application from being served, and nothing else", async () => {
  const unsigned = await openApp({
    connections: [],
    onAttention: { url: "https://pager.example/", secret: undefined },
  });
  await expect(unsigned.start()).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringMatching(/^Cannot tell onAttention: .*none is set/),
  });
  await unsigned.open();
  const nowhere = await openApp({ connections: [], onAttention: { url: "pager", secret } });
  expect(nowhere.problems).toEqual([expect.stringContaining("its url is no http or https URL")]);
});
