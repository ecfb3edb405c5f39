/** The HTTP thread under `counterfoil serve`: overload, signals, SIGKILL, and a thread that does not live. */
import { existsSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { expect, test, vi } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { headerValues, openRaw, type RawConnection, rawExchange, requestBytes } from "../../src/testing/raw-http.ts";
import { signedEvent } from "../support/case-delivery.ts";
import { hook, kept, live, serveFront, startServe, told } from "./front-server.ts";

vi.setConfig({ testTimeout: 120_000 });

/** `serve` has an HTTP thread where the machine has a second processor. */
const threaded = availableParallelism() > 1;
const applied = (event: string): string => `200 {"outcome":"applied","event":"${event}"}`;

/** Senders that deliver event after event, and one that was not acknowledged again. */
class Senders {
  /** Events that were answered 2xx. */
  readonly acknowledged = new Set<string>();
  /** What else was answered. */
  readonly others: number[] = [];
  port: number;
  #ended = false;

  constructor(port: number) {
    this.port = port;
  }

  end(): void {
    this.#ended = true;
  }

  async run(sender: number): Promise<void> {
    let connection: RawConnection | undefined;
    for (let n = 0; !this.#ended;) {
      const id = `evt-${sender}-${n}`;
      try {
        connection ??= await openRaw(this.port);
        await connection.send(requestBytes(hook(signedEvent(id))));
        const answer = await connection.read();
        if (answer.status === 200) this.acknowledged.add(id);
        else this.others.push(answer.status);
        if (answer.status === 200) n += 1;
        if (headerValues(answer, "connection").includes("close")) connection = undefined;
      } catch {
        // Its server is gone; the next one may be there.
        connection = undefined;
        await new Promise((resolve) => void setImmediate(resolve));
      }
    }
    await connection?.[Symbol.asyncDispose]();
  }
}

test.runIf(threaded)(
  "while a handler keeps the engine's thread, what is too much is told so at once and health says no",
  async () => {
    const limits = { waitingMax: 4, groupMax: 4, lockMs: 500 };
    const { running, port, database } = await serveFront(["--log", "silent"], { limits });
    const until = `${database.folder}/go-on`;
    const answers: (readonly unknown[])[] = [];
    const send = async (...event: Parameters<typeof signedEvent>): Promise<void> => {
      const answer = await rawExchange(port, hook(signedEvent(...event)));
      answers.push([answer.status, ...headerValues(answer, "retry-after"), answer.body.toString()]);
    };
    const blocking = send("evt-blocking", { until }, { type: "blocking" });
    await eventually(async () => (await told(port, live)) === '503 {"ok":false}');
    const sent = Array.from({ length: 40 }, (_, n) => send(`evt-${n}`));
    await eventually(() => answers.length === 37);
    expect(answers).toEqual(answers.map(() => [503, "2", '{"error":"OVERLOADED"}']));
    expect(await told(port, { method: "GET", path: "/health/ready" })).toBe('503 {"ok":false}');
    expect(existsSync(until)).toBe(false);
    writeFileSync(until, "");
    await Promise.all([blocking, ...sent]);
    expect(answers.slice(37).map(([status]) => status)).toEqual([200, 200, 200, 200]);
    expect(await told(port, hook(signedEvent("evt-next")))).toBe(applied("evt-next"));
    expect(await told(port, live)).toBe('200 {"ok":true}');
    running.child.kill("SIGTERM");
    expect((await running.end()).code).toBe(0);
  },
);

test("killed under load, it has kept all that it acknowledged, and each event is applied once", async () => {
  const limits = { queueMs: 4_000, lockMs: 4_000 };
  const first = await serveFront(["--log", "silent"], { limits });
  const { database } = first;
  const senders = new Senders(first.port);
  const running = Promise.all(Array.from({ length: 8 }, (_, sender) => senders.run(sender)));
  await eventually(() => senders.acknowledged.size > 150);
  first.running.child.kill("SIGKILL");
  await first.running.end();
  const before = await kept(database);
  expect(before.receipts).toEqual(expect.arrayContaining([...senders.acknowledged]));
  const second = await serveFront(["--log", "silent"], { limits, database });
  senders.port = second.port;
  const sofar = senders.acknowledged.size;
  await eventually(() => senders.acknowledged.size > sofar + 50);
  senders.end();
  await running;
  second.running.child.kill("SIGTERM");
  expect((await second.running.end()).code).toBe(0);
  const after = await kept(database);
  expect(senders.others).toEqual([]);
  expect(after.receipts).toEqual([...senders.acknowledged].sort());
  expect(after.applied).toEqual(after.receipts);
});

test("a signal under load ends it with 0, and whatever it has taken it has answered", async () => {
  const { running, port, database } = await serveFront(["--log", "silent"]);
  const senders = new Senders(port);
  const sending = Promise.all(Array.from({ length: 8 }, (_, sender) => senders.run(sender)));
  await eventually(() => senders.acknowledged.size > 50);
  running.child.kill("SIGTERM");
  expect((await running.end()).code).toBe(0);
  senders.end();
  await sending;
  const { receipts, applied: events } = await kept(database);
  expect([receipts, events]).toEqual([[...senders.acknowledged].sort(), receipts]);
  expect(senders.others).toEqual([]);
});

test.runIf(threaded).each([
  ["throws", "the port of the metrics is taken"],
  ["takes its secret", "blank"],
])("a configuration that %s the second time ends serve with 2 and is told what to do", async (fault, problem) => {
  const { running } = await startServe(["--log", "silent"], { fault });
  const { code, stdout, stderr } = await running.end();
  expect([code, stdout]).toEqual([2, ""]);
  expect(JSON.parse(stderr)).toMatchObject({ error: "CONFIG_INVALID", message: expect.stringContaining(problem) });
  expect(stderr).toMatch(
    /Cannot load the configuration in the HTTP thread: .*serve without that thread \(--no-http-thread\)/,
  );
});

test.runIf(threaded)("a configuration is given the process's own arguments in the thread as well", async () => {
  const { port } = await serveFront(["--log", "silent"], { fault: "needs its arguments" });
  expect(await told(port, hook(signedEvent("evt-1")))).toBe(applied("evt-1"));
});

test.runIf(threaded).each([
  ["dies at last", "the HTTP thread's own end"],
  ["leaves at last", "Cannot go on: the HTTP thread ended by itself"],
])("an HTTP thread that %s takes its process along", async (fault, problem) => {
  const database = (await startServe(["--help"])).database;
  const diesAt = `${database.folder}/die`;
  const { running } = await serveFront(["--log", "silent"], { fault, diesAt, database });
  writeFileSync(diesAt, "");
  const { code, stderr } = await running.end();
  expect(code).toBeGreaterThan(0);
  expect(stderr).toContain(problem);
});
