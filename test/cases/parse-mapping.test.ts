/** The provider changed what it sends: nothing is half applied, and what was kept is applied once the mapping is mended. */
import { connect } from "counterfoil";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import type { ConnectOptions } from "../../src/app/connect.ts";
import { bodyPlan } from "../../src/parse/body-plan.ts";
import { caseSecret, type CaseServer, sender, signedBytes, signedEvent, startCase } from "../support/case-server.ts";

type Handlers = ConnectOptions<"sender">["handlers"];

const tables = ["CREATE TABLE IF NOT EXISTS renewals (event TEXT, ends TEXT NOT NULL)"];

const ended = v.object({ period: v.object({ end: v.pipe(v.number(), v.integer()) }) });
/** Where the field stands now; the old place is read as well. */
const moved = v.union([ended, v.object({ items: v.tuple([ended]) })]);

const renewed = sender.on("renewed", ended, async ({ event, tx }) => {
  await tx.sql`INSERT INTO renewals VALUES (${event.id}, ${new Date(event.data.period.end * 1_000)})`;
});
const mended = sender.on("renewed", moved, async ({ event, tx }) => {
  const { period } = "period" in event.data ? event.data : event.data.items[0];
  await tx.sql`INSERT INTO renewals VALUES (${event.id}, ${new Date(period.end * 1_000)})`;
});

function renewals(
  handlers: Handlers,
  options: { database?: CaseServer["database"]; provider?: typeof sender } = {},
): Promise<CaseServer> {
  const { provider = sender, ...more } = options;
  const sending = connect("sender", { provider, secrets: [caseSecret], tenant: "acme", handlers });
  return startCase({ connections: [sending], tables, ...more });
}

const renewal = (id: string, data: object) => signedEvent(id, data, { type: "renewed" });

async function applyAll({ app }: CaseServer): Promise<readonly string[]> {
  const operator = app.operator({ who: "ada" });
  const said: string[] = [];
  for (const { id } of (await operator.receipts()).toReversed()) {
    said.push((await operator.apply({ receiptId: id })).says);
  }
  return said;
}

describe("a field that moved, is missing, null or of another type", () => {
  test("is found before anything is written, is named, and its events are applied once after the mapping is mended", async () => {
    const old = await renewals([renewed]);
    const events = [
      renewal("evt-1", { period: { end: 1_767_225_600 } }),
      renewal("evt-2", { items: [{ period: { end: 1_767_225_600 } }] }),
      renewal("evt-3", { period: null }),
      renewal("evt-4", { period: { end: "2026-01-01" } }),
      renewal("evt-5", {}),
    ];
    for (const [n, event] of events.entries()) {
      const outcome = n === 0 ? { status: 200, outcome: "applied" } : { status: 202, outcome: "quarantined" };
      expect(await old.post(event)).toMatchObject(outcome);
    }
    expect(await old.rows("SELECT event, ends FROM renewals")).toEqual([
      { event: "evt-1", ends: "2026-01-01T00:00:00.000Z" },
    ]);
    const operator = old.app.operator({ who: "ada" });
    expect((await operator.receipts({ outcome: "quarantined" })).map(({ reason }) => reason)).toEqual(
      Array.from({ length: 4 }, () => expect.stringContaining("period")),
    );
    expect(await operator.attention()).toHaveLength(4);
    await old.app.stop();

    const server = await renewals([mended], { database: old.database });
    expect(await applyAll(server)).toEqual([
      "It is applied already; reprocess runs its handler again",
      "It is applied now",
      ...Array.from({ length: 3 }, () => expect.stringMatching(/^It is quarantined now/)),
    ]);
    await applyAll(server);
    for (const event of events) expect(await server.post(event)).toMatchObject({ outcome: "duplicate" });
    expect(await server.rows("SELECT event FROM renewals")).toEqual([{ event: "evt-1" }, { event: "evt-2" }]);
  });
});

test("a body that only a mended preset can read becomes the event that it is, once, also when it comes again", async () => {
  const shallow = { ...sender, plan: bodyPlan({ depthMax: 3, watch: [["id"], ["type"], ["account"]] }) };
  const old = await renewals([renewed], { provider: shallow });
  const event = renewal("evt-1", { period: { end: 1 }, more: [[[]]] });
  const late = renewal("evt-2", { period: { end: 2 }, more: [[[]]] });
  const stored = await old.post(event);
  const storedLate = await old.post(late);
  expect(stored).toMatchObject({ status: 202, outcome: "quarantined", event: expect.stringMatching(/^unreadable:/) });
  await old.app.stop();

  const server = await renewals([renewed], { database: old.database });
  // It comes again before anybody has looked at what was kept.
  expect(await server.post(late)).toMatchObject({ status: 200, outcome: "applied", event: "evt-2" });
  const said = await applyAll(server);
  expect(said.slice(0, 2)).toEqual(["It is resolved now: is event evt-1", "It is resolved now: is event evt-2"]);
  expect(await server.post(event)).toMatchObject({
    status: 202,
    outcome: "duplicate",
    first: "queued",
    event: "evt-1",
  });
  await server.app.drain();
  expect(await server.outcomes()).toEqual([
    `${stored.event} resolved`,
    `${storedLate.event} resolved`,
    "evt-2 applied",
    "evt-1 applied",
  ]);
  expect(await server.rows("SELECT event FROM renewals")).toEqual([{ event: "evt-2" }, { event: "evt-1" }]);
});

test("events of a type that nobody handles are acknowledged without an alarm, kept, and applied once it is handled", async () => {
  const old = await renewals([]);
  const sent = Array.from({ length: 150 }, (_, n) => renewal(`evt-${n}`, { period: { end: n } }));
  const answers = await Promise.all(sent.map((event) => old.post(event)));
  expect(new Set(answers.map(({ status, outcome }) => `${status} ${outcome}`))).toEqual(new Set(["200 ignored"]));
  const operator = old.app.operator({ who: "ada" });
  expect(await operator.attention()).toEqual([]);
  expect((await operator.status()).receipts).toEqual({ ignored: 150 });
  await old.app.stop();

  const server = await renewals([renewed], { database: old.database });
  const { reader } = server.app.runtime.store;
  const ids = (await reader.receipts({ outcome: "ignored" }, { limit: 200 })).map(({ id }) => id);
  for (const receiptId of [...ids, ids[0]!]) await server.app.operator({ who: "ada" }).apply({ receiptId });
  expect(await server.rows("SELECT count(*) AS n, count(DISTINCT event) AS events FROM renewals")).toEqual([
    { n: 150, events: 150 },
  ]);
});

test("a body that is no event at all, or one of another shape, is told apart from a forged one", async () => {
  const server = await renewals([renewed]);
  expect(await server.post(signedBytes("[]"))).toEqual({ status: 400, error: "NO_EVENT_ID" });
  expect(await server.post(signedBytes('{"id":"1"}'))).toMatchObject({ status: 202, outcome: "quarantined" });
  expect(await server.post(signedBytes('{"id":"2","type":"a","type":"b"}'))).toMatchObject({ outcome: "quarantined" });
});
