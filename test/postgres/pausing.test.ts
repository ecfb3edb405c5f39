/** A destination that is about to be paused: its places are nobody's before the pause is there for all to see. */
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { openOffice } from "../outbox/office.ts";

test("nobody takes the place of a call that pauses its destination, before the pause is committed", async () => {
  await using office = await openOffice({ limits: { callsPerDestination: 1 } });
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isCalled = false;
  let turns = 0;
  const desk = await office.desk({
    onEvent: (event) => {
      if (event.kind === "attempt.started") isCalled = true;
    },
    beforeCommit: async ({ plansKept }) => {
      if (!plansKept) return;
      turns += 1;
      if (!isCalled || office.provider.counts().requests === 0) return;
      isCalled = false;
      held.resolve();
      await release.promise;
    },
  });
  office.provider.failNext({ when: "before", kind: "answer", status: 403 });
  await desk.owe("order-1");
  desk.worker.start();
  await held.promise;
  // The turn that writes the pause waits for its commit; another begins meanwhile, and finds two that are due.
  await desk.owe("order-2");
  await desk.owe("order-3");
  const before = turns;
  await eventually(() => turns > before);
  release.resolve();
  await eventually(() => desk.kinds().includes("destination.paused"));
  await desk.work();
  expect(office.provider.counts().requests).toBe(1);
  expect([await desk.state("order-2"), await desk.state("order-3")]).toEqual(["owed", "owed"]);
});
