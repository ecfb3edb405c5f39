import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { addOrder, clockAhead, crashApp, crashPayment, createOrders } from "../support/crash-app.ts";
import { checkInvariants } from "../support/invariants.ts";
import { temporaryDatabase } from "../support/order-app.ts";

/**
 * Orders sent with a key and orders sent without. When the worker dies the carrier still works on some,
 * has booked some whose answer is not sent, and has answered the others.
 */
const orders = ["keyed", "keyless"].flatMap((kind) =>
  ["working", "booked", "answered"].flatMap((phase) => [1, 2, 3].map((n) => `${kind}-${phase}-${n}`)),
);

test("a worker killed with calls in every phase leaves none locked, and each is carried out once", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = stack.use(await temporaryDatabase());
  const carrier = stack.use(await startFakeProvider());
  carrier.failWhen(({ method, body }) => {
    if (method !== "POST" || body.includes("-answered-")) return undefined;
    return { when: body.includes("-working-") ? "before" : "after", kind: "hold" };
  });
  const receiver = crashApp({ address, carrier: carrier.url });
  stack.defer(() => receiver.stop());
  await createOrders(receiver);
  for (const order of orders) {
    await addOrder(receiver, order);
    await receiver.receive("stripe", crashPayment(`evt-${order}`, order));
  }

  const victim = stack.use(
    startProcess(new URL("../children/life.ts", import.meta.url), { arguments: [address, carrier.url] }),
  );
  victim.ask("work").catch(() => undefined);
  const { reader } = receiver.runtime.store;
  await eventually(async () => carrier.held === 12 && (await reader.counts()).obligations.done === 6);
  expect((await victim.kill()).signal).toBe("SIGKILL");
  expect((await reader.counts()).obligations).toEqual({ done: 6, sending: 12 });

  carrier.failWhen(() => undefined);
  carrier.release();
  await eventually(() => carrier.counts().effects === orders.length);
  // A worker that starts right when the leases of the dead have ended.
  const next = crashApp({ address, carrier: carrier.url, clock: clockAhead(60_000) });
  stack.defer(() => next.stop());
  await next.start({ roles: ["worker"] });
  await eventually(async () => (await reader.counts()).obligations.done === orders.length, { withinMs: 50_000 });
  await checkInvariants(next, { carrier, where: "after the kill" });
  const { byRef } = carrier.counts();
  for (const order of orders) {
    const { requests, effects } = byRef[`acme/${order}/fulfil/v1`] ?? {};
    expect(effects, order).toBe(1);
    // What was answered was recorded; what the carrier can tell by a lookup is not sent to find out.
    const once = order.includes("-answered-") || order.startsWith("keyless-");
    expect(requests, order).toBe(once ? 1 : 2);
  }
});
