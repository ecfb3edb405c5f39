/** A body that leaves work of its transaction behind has not finished: nothing of it is kept, and it is told why. */
import { type App, connect, defineApp, effect, type } from "counterfoil";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { WorkContext } from "../../src/domain/handler.ts";
import { deliver } from "../cases/deliver.ts";
import { caseSecret, sender, signedEvent } from "../support/case-delivery.ts";
import { storeAt } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";

const tell = effect("tell/v1", {
  input: type<{ n: number }>(),
  request: ({ input }) => ({ method: "POST", url: "https://partner.example/v1/notes", json: input }),
  idempotency: "none",
});

type Body = (context: WorkContext) => Promise<unknown> | void;

/** Left behind on purpose; what it meets after the body's end is of no interest here. */
async function three({ tx }: WorkContext): Promise<void> {
  await tx.sql`INSERT INTO notes VALUES ('one')`;
  await tx.sql`INSERT INTO notes VALUES ('two')`;
  await tx.sql`INSERT INTO notes VALUES ('three')`;
}

async function later({ tx }: WorkContext): Promise<void> {
  await Promise.resolve();
  await tx.sql`INSERT INTO notes VALUES ('late')`;
}

const leaving: readonly (readonly [string, Body])[] = [
  ["its last statement", async ({ tx }) => void tx.sql`INSERT INTO notes VALUES ('last')`],
  ["its only statement, without being async", ({ tx }) => void tx.sql`INSERT INTO notes VALUES ('only')`],
  ["what it owes", async ({ owe }) => void owe(tell, { key: ["n"], input: { n: 1 } })],
  ["a helper in the middle of its statements", async (context) => void three(context).catch(() => undefined)],
  ["a helper that has not begun", async (context) => void later(context).catch(() => undefined)],
];

let app: App;
let body: Body = () => undefined;
beforeEach(async () => {
  const changed = sender.on("changed", (context) => body(context) as Promise<void>);
  app = defineApp({
    store: storeAt((await ownDatabase()).address),
    connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] })],
    effects: [tell],
  });
  onTestFinished(() => app.stop());
  await rows(app, "CREATE TABLE notes (body TEXT PRIMARY KEY)");
});

async function kept(): Promise<readonly unknown[]> {
  const notes = await rows(app, "SELECT body FROM notes");
  return [
    ...notes.map((note) => String(note["body"])).toSorted(),
    ...(await app.runtime.store.reader.obligations({}, { limit: 10 })),
  ];
}

describe.each(leaving)("a body that does not await %s", (_what, leave) => {
  test("fails its transaction, which says what to do and keeps nothing", async () => {
    await expect(app.transaction({ tenant: "acme" }, leave)).rejects.toMatchObject({
      code: "HANDLER_UNFINISHED",
      message: expect.stringContaining("await each"),
    });
    expect(await kept()).toEqual([]);
  });

  test("holds its event, and the one beside it in the group is decided", async () => {
    body = leave;
    const [first, second] = await Promise.all([
      deliver(app, signedEvent("evt-1"), "sender"),
      deliver(app, signedEvent("evt-2", {}, { type: "other" }), "sender"),
    ]);
    expect([first.body["outcome"], second.body["outcome"]]).toEqual(["held", "ignored"]);
    const [held] = await app.operator({ who: "test" }).receipts({ eventId: "evt-1" });
    expect(held?.reason).toContain("HANDLER_UNFINISHED");
    expect(await kept()).toEqual([]);
  });
});

test("what is awaited together, or in another order than it was called, has finished", async () => {
  await app.transaction({ tenant: "acme" }, async ({ tx, owe }) => {
    const first = tx.sql`INSERT INTO notes VALUES ('first')`;
    await Promise.all([tx.sql`INSERT INTO notes VALUES ('second')`, owe(tell, { key: ["n"], input: { n: 1 } })]);
    await first;
  });
  await app.transaction({ tenant: "acme" }, ({ tx }) => tx.sql`INSERT INTO notes VALUES ('third')`);
  expect(await kept()).toMatchObject(["first", "second", "third", { operationKey: "n" }]);
});

test("what was not awaited before an awaited statement ran when it was called", async () => {
  await app.transaction({ tenant: "acme" }, async ({ tx }) => {
    void tx.sql`INSERT INTO notes VALUES ('first')`;
    await tx.sql`INSERT INTO notes VALUES ('second')`;
  });
  expect(await kept()).toEqual(["first", "second"]);
});
