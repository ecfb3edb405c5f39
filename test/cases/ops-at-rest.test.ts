import { expect, test } from "vitest";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { ours, type TemporaryDatabase, temporaryDatabase } from "../support/engine.ts";
import { openApp, orderApp, payment, placeOrders, secret } from "../support/order-app.ts";
import { deliver } from "./deliver.ts";

/** The tables whose purpose is to hold what events, requests and answers say. */
const payloads = ["payloads", "mismatches", "requests", "answers", "snapshots"].map(ours);

const canary = (place: string): string => `canary-${place}`;

/** Every row of a table as text, bytes included. */
async function dump({ run }: TemporaryDatabase, table: string): Promise<string> {
  const rows = (await run(`SELECT * FROM ${table}`)).map((row) =>
    Object.values(row).map((value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value),
    ),
  );
  return JSON.stringify(rows);
}

test("in the database payloads stand in the tables for payloads only, and secrets nowhere", async () => {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  const carrier = stack.use(await startFakeProvider());
  let fails = false;
  const beforeOwe = (): void => {
    if (fails) throw Object.assign(new RangeError(canary("handler-message")), { detail: canary("detail") });
  };
  const { app } = stack.use(await openApp(orderApp(database.address, { carrier: carrier.url, beforeOwe })));
  await placeOrders(app, "order-1", "order-2");
  const address = canary("address");
  const answers = [await deliver(app, payment("evt-1", "order-1", { address }))];
  fails = true;
  for (const delivery of [
    payment("evt-2", "order-2", { address }),
    payment("evt-3", "order-missing", { address }),
    payment("evt-1", "order-1", { address: canary("other-address") }),
    app.trialDelivery("stripe", { body: Buffer.from(`{"id":"evt-4","type":"${canary("a")}","type":"b"}`) }),
    app.trialDelivery("stripe", { body: payment("evt-5").body, secret: canary("forger") }),
  ]) {
    const headers = { ...delivery.headers, authorization: canary("authorization"), "x-custom": canary("custom") };
    answers.push(await deliver(app, { ...delivery, headers }));
  }
  expect(answers.map(({ status, body }) => [status, body["outcome"] ?? body["error"]])).toEqual([
    [200, "applied"],
    [202, "held"],
    [202, "parked"],
    [202, "duplicate"],
    [202, "quarantined"],
    [401, "SIGNATURE_REFUSED"],
  ]);
  carrier.failNext({ when: "before", kind: "answer", status: 422, body: canary("error-body") });
  await app.drain();
  const operator = app.operator({ who: "ada" });
  await operator.retry({ tenant: "tenant-a", operationKey: "order-1/fulfil/v1", why: "mended" });
  await app.drain();
  await operator.resolve({ receiptId: 3, choice: "keep", why: "seen" });

  const tables = await database.ourTables();
  const dumps = await Promise.all(tables.map((table) => dump(database, table)));
  const found = tables.filter((_, index) => dumps[index]?.includes("canary-"));
  expect(found.filter((table) => !payloads.includes(table))).toEqual([]);
  expect(found).toContain(ours("payloads"));
  const all = dumps.join("");
  for (const hidden of ["authorization", "custom", "forger", "handler-message", "detail"]) {
    expect(all).not.toContain(canary(hidden));
  }
  expect(all).not.toContain(secret);
  expect(all).toContain("status 422");
});
