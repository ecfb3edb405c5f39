/** Nothing is left to do after a 2xx: a process that dies with its last byte has kept all that it acknowledged. */
import { expect, test } from "vitest";
import { startProcess } from "../../src/testing/processes.ts";
import { rawExchange } from "../../src/testing/raw-http.ts";
import { rawRequest } from "../support/hooks-server.ts";
import { openApp, orderApp, payment, placeOrders, rows, temporaryDatabase } from "../support/order-app.ts";

const rounds = 24;
const child = new URL("../children/answer-and-die.ts", import.meta.url);

test("killed the instant an answer is flushed, a receiver has kept all of it", { timeout: 300_000 }, async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(orderApp(address)));
  const orders = Array.from({ length: rounds }, (_, n) => `order-${n}`);
  await placeOrders(app, ...orders);

  const answerAndDie = async (order: string): Promise<number> => {
    await using process = startProcess(child, { arguments: [address] });
    const port = Number(await process.ask("listen"));
    const { status } = await rawExchange(port, rawRequest(payment(`evt-${order}`, order), {}));
    expect(await process.ended).toMatchObject({ signal: "SIGKILL" });
    return status;
  };
  const lanes = [0, 1].map(async (lane) => {
    const statuses: number[] = [];
    for (const order of orders.filter((_, n) => n % 2 === lane)) statuses.push(await answerAndDie(order));
    return statuses;
  });
  expect(new Set((await Promise.all(lanes)).flat())).toEqual(new Set([200]));

  expect(await rows(app, "SELECT count(*) AS n FROM orders WHERE status = 'paid'")).toMatchObject([{ n: rounds }]);
  const { receipts, obligations } = await app.operator({ who: "test" }).status();
  expect({ receipts, obligations }).toEqual({ receipts: { applied: rounds }, obligations: { owed: rounds } });
  for (const order of orders) {
    expect(await app.receive("stripe", payment(`evt-${order}`, order))).toMatchObject({ duplicate: true });
  }
});
