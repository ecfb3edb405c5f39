/** Handlers that end their process: each start is counted before the handler runs, and they are not run for ever. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "counterfoil";
import { expect, test } from "vitest";
import { startProcess } from "../../src/testing/processes.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, sender, signedEvent, startCase } from "../support/case-server.ts";
import { fatalApp } from "../support/fatal-app.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";

test("an event that ends its process each time is held for the operator, and charges no other", async () => {
  await using stack = new AsyncDisposableStack();
  const { address } = await ownDatabase();
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-"));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const log = join(folder, "runs");
  const mended: string[] = [];
  const app = fatalApp({ address, ran: (id) => void mended.push(id) });
  stack.defer(() => app.stop());
  await app.open();
  await rows(app, "CREATE TABLE seen (id TEXT)");
  for (const id of ["first", "fatal", "last"]) await app.receive("sender", signedEvent(id));

  const file = new URL("./children/fatal.ts", import.meta.url);
  const ends: unknown[] = [];
  for (const [life, way] of ["exit", "SIGKILL", "exit", "exit"].entries()) {
    // The lease of the life before has ended.
    await using child = startProcess(file, { arguments: [address, log, way, String(life * 61_000)] });
    await child.ask("work").catch(() => undefined);
    if (life === 3) await child.finish();
    const { code, signal } = await child.ended;
    ends.push(signal ?? code);
  }
  expect(ends).toEqual([9, "SIGKILL", 9, 0]);
  const runs = readFileSync(log, "utf8").trim().split("\n");
  // Together once, then one at a time: whatever stands behind is neither charged nor run.
  expect(runs).toEqual(["first", "fatal", "first", "fatal", "fatal", "last"]);

  const operator = app.operator({ who: "test" });
  const [item, ...others] = await operator.attention();
  expect(others).toEqual([]);
  expect(item).toMatchObject({
    receipt: {
      eventId: "fatal",
      outcome: "held",
      starts: 3,
      dueAt: null,
      reason: expect.stringContaining("crashed worker"),
    },
  });
  const receiptId = item?.kind === "receipt" ? item.receipt.id : 0;
  expect((await operator.receipt(receiptId)).next).toMatchObject({
    text: expect.stringContaining("ends its process"),
    needsOperator: true,
  });
  expect(await rows(app, "SELECT id FROM seen ORDER BY id")).toEqual([{ id: "first" }, { id: "last" }]);
  await operator.apply({ receiptId });
  expect(mended).toEqual(["fatal"]);
  expect((await operator.receipt(receiptId)).receipt).toMatchObject({ outcome: "applied", starts: 0 });
});

/** An application whose handler does what the test says. */
async function later(handle: (id: string) => void) {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const ran: string[] = [];
  const changed = sender.on("changed", ({ event }) => {
    ran.push(event.id);
    handle(event.id);
  });
  const common = { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] } as const;
  const server = await startCase({
    connections: [connect("sender", { ...common, apply: "later" })],
    limits: { queueMs: 60_000, crashesMax: 2 },
    clock,
  });
  return { ...server, clock, ran };
}

test("what a batch has no time for counts no start, and is due at once", async () => {
  const server = await later(() => server.clock.advance(201));
  for (const id of ["a", "b", "c"]) await server.post(signedEvent(id));
  await server.app.drain({ budget: "1ms" });
  expect(server.ran).toEqual(["a", "b", "c"]);
  expect(await server.outcomes()).toEqual(["a applied", "b applied", "c applied"]);
});

test("a handler that fails is tried as often as before: its process lives", async () => {
  const server = await later(() => {
    throw new Error("The handler fails each time");
  });
  await server.post(signedEvent("a"));
  for (let run = 0; run < 4; run += 1) {
    await server.app.drain({ budget: "1ms" });
    server.clock.advance(3_600_000);
  }
  const [receipt] = await server.app.operator({ who: "test" }).receipts();
  expect(receipt).toMatchObject({ outcome: "held", tries: 4, starts: 0 });
});
