/** On a clock that stands still no loop polls: whatever is done was heard of. */
import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { openOffice } from "../outbox/office.ts";

test("what one process owes another carries out at once, without waiting for its next look", async () => {
  await using office = await openOffice();
  const [desk, receiver] = [await office.desk(), await office.desk()];
  desk.worker.start();
  const listening = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
  await eventually(async () => (await office.database.run(listening)).length === 1, { what: "a listener" });
  for (const order of ["order-1", "order-2"]) {
    await receiver.owe(order);
    await eventually(async () => (await desk.state(order)) === "done", { what: "a shipment" });
  }
  expect(office.provider.counts().effects).toBe(2);
  await desk.worker.stop();
  await eventually(async () => (await office.database.run(listening)).length === 0, { what: "the listener's end" });
});
