import { expect, onTestFinished, test } from "vitest";
import { ownDatabase } from "../support/own-database.ts";
import { fuzzApp } from "./fuzz-app.ts";
import { fuzz } from "./fuzz.ts";

test("20 000 requests of chance: no 2xx, no 500, no row, bounded memory, and the next delivery is taken", async () => {
  const seed = Math.floor(Math.random() * 2 ** 30);
  const app = fuzzApp((await ownDatabase()).address);
  onTestFinished(() => app.stop());
  await app.open();
  const { port } = await app.listen({ port: 0 });
  const before = process.memoryUsage().rss;
  const { statuses, wrong } = await fuzz({ port, requests: 20_000, seed });
  expect(wrong, `seed ${seed}`).toEqual([]);
  for (const status of [400, 401, 404, 405, 413, 415, 431, 503]) {
    expect(statuses[status], `status ${status}, seed ${seed}`).toBeGreaterThan(0);
  }
  expect((await app.runtime.store.reader.counts()).receipts).toEqual({});
  expect(process.memoryUsage().rss - before).toBeLessThan(512 * 1024 * 1024);
  const id = { id: "evt-after", type: "changed" };
  const delivery = app.trialDelivery("sender", { body: Buffer.from(JSON.stringify(id)) });
  expect(await app.receive("sender", delivery)).toMatchObject({ eventId: "evt-after", outcome: "ignored" });
}, 600_000);
