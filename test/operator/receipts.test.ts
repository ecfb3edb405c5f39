import { type App, connect, defineApp, effect, resource, type } from "counterfoil";
import { github, type SignedDelivery, stripe } from "counterfoil/providers";
import { expect, onTestFinished, test } from "vitest";
import type { ConnectOptions } from "../../src/app/connect.ts";
import { storeAt } from "../support/engine.ts";
import { ownDatabase } from "../support/own-database.ts";
import { coded } from "./counter.ts";

const secret = "a secret of the operator tests";

/** What the handlers of a test do; a test mends or breaks them between two runs. */
interface Behaviour {
  handlers?: ConnectOptions<"stripe">["handlers"];
  fails?: boolean;
  retention?: ConnectOptions<"stripe">["retention"];
}

const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://carrier.example/shipments", json: input }),
  idempotency: "none",
});
const project = resource("project", { state: type<{ name: string }>() });

/** A shop on a database file; a second one on the same file is the same shop after a deployment. */
async function shop(behaviour: Behaviour = {}, at?: string): Promise<App & { readonly address: string }> {
  const address = at ?? (await ownDatabase()).address;
  const paid = stripe.on("payment_intent.succeeded", async ({ event, tx, owe, waitFor, refuse }) => {
    const id = event.data.object.metadata["order"] ?? "";
    const [order] = await tx.sql<{ status: string }>`SELECT status FROM orders WHERE id = ${id}`;
    if (!order) return waitFor("order", id);
    if (behaviour.fails) throw new Error("canary");
    const { changes } = await tx.sql`UPDATE orders SET status = 'paid' WHERE id = ${id} AND status = 'new'`;
    if (changes === 0) return refuse(`order is ${order.status}`);
    await owe(ship, { key: [id, "fulfil", "v1"], input: { order: id } });
  });
  const changed = github.on("push", ({ event, snapshot }) =>
    snapshot(project, { id: "p-1", revision: 7, state: { name: event.data.ref } }).then(() => undefined),
  );
  const app = defineApp({
    store: storeAt(address),
    connections: [
      connect("stripe", {
        provider: stripe,
        secrets: [secret],
        tenant: "acme",
        handlers: behaviour.handlers ?? [paid],
        ...(behaviour.retention && { retention: behaviour.retention }),
      }),
      connect("github", { provider: github, secrets: [secret], tenant: "acme", handlers: [changed] }),
    ],
    effects: [ship],
  });
  await app.open();
  onTestFinished(() => app.stop());
  await app.transaction({ tenant: "acme" }, async ({ tx }) => {
    await tx.sql`CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, status TEXT NOT NULL)`;
    await tx.sql`INSERT INTO orders VALUES ('order-1', 'new') ON CONFLICT DO NOTHING`;
  });
  return Object.assign(app, { address });
}

/** Delivers to the connection as over HTTP, where a failing handler holds the event. */
async function deliver(app: App, { headers, body }: SignedDelivery, connection = "stripe"): Promise<string> {
  const request = new Request(`http://localhost/hooks/${connection}`, {
    method: "POST",
    headers,
    body: new Uint8Array(body),
  });
  const answer = (await (await app.fetch(request)).json()) as { readonly outcome?: string; readonly error?: string };
  return answer.outcome ?? answer.error ?? "";
}

interface Payment {
  readonly id?: string;
  readonly order?: string;
  readonly amount?: number;
}

function pay(app: App, { id = "evt_1", order = "order-1", amount = 1 }: Payment = {}): Promise<string> {
  const data = { object: { id: "pi_1", amount, metadata: { order } } };
  const body = Buffer.from(JSON.stringify({ id, type: "payment_intent.succeeded", data }));
  return deliver(app, app.trialDelivery("stripe", { body }));
}

function push(app: App, ref: string, id: string): Promise<string> {
  const body = Buffer.from(JSON.stringify({ ref }));
  return deliver(app, app.trialDelivery("github", { body, type: "push", id }), "github");
}

async function newest(app: App) {
  const [receipt] = await app.operator({ who: "ada" }).receipts();
  return receipt!;
}

const owed = async (app: App) => (await app.operator({ who: "ada" }).obligations()).length;

test("apply runs the handler of a held event once it is mended, in one audited step", async () => {
  const behaviour: Behaviour = { fails: true };
  const app = await shop(behaviour);
  const operator = app.operator({ who: "ada" });
  expect(await pay(app)).toBe("held");
  const { id: receiptId, version } = await newest(app);
  expect(await operator.apply({ receiptId, version })).toMatchObject({
    changed: true,
    says: expect.stringMatching(/^It is held now: HANDLER_FAILED/),
  });
  behaviour.fails = false;
  await expect(operator.apply({ receiptId, version })).rejects.toEqual(coded("CHANGED"));
  expect(await operator.apply({ receiptId, why: "mended" })).toEqual({ changed: true, says: "It is applied now" });
  expect(await operator.apply({ receiptId })).toEqual({
    changed: false,
    says: "It is applied already; reprocess runs its handler again",
  });
  expect(await owed(app)).toBe(1);
  const { audit, next } = await operator.receipt(receiptId);
  expect(next).toEqual({ text: "nothing: the outcome is final", at: null, needsOperator: false });
  expect(audit.map(({ action, who, why }) => [action, who, why])).toEqual([
    ["apply", "ada", null],
    ["apply", "ada", "mended"],
  ]);
  expect(JSON.parse(audit[1]!.before!)).toMatchObject({ outcome: "held" });
  expect(JSON.parse(audit[1]!.after!)).toEqual({ outcome: "applied", reason: null });
  expect(JSON.stringify(audit)).not.toContain("canary");
});

test("of two operators who apply the same event at once, one does and the other is told that it changed", async () => {
  const behaviour: Behaviour = { fails: true };
  const app = await shop(behaviour);
  await pay(app);
  behaviour.fails = false;
  const { id: receiptId, version } = await newest(app);
  const other = await shop(behaviour, app.address);
  const results = await Promise.allSettled(
    [app, other].map((one) => one.operator({ who: "ada" }).apply({ receiptId, version })),
  );
  expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(results.find((result) => result.status === "rejected")?.reason).toEqual(coded("CHANGED"));
  expect(await owed(app)).toBe(1);
  expect((await app.operator({ who: "ada" }).receipt(receiptId)).audit).toHaveLength(1);
});

test("of two operators who close the same event at once, one does, and the audit has one row", async () => {
  const app = await shop({ fails: true });
  await pay(app);
  await pay(app, { amount: 2 });
  const { id: receiptId } = await newest(app);
  for (const choice of ["acknowledge", "keep"] as const) {
    const both = ["ada", "bob"].map((who) => app.operator({ who }).resolve({ receiptId, choice }));
    const results = await Promise.allSettled(both);
    // The other one is told that the event is another by now, or finds nothing left to close.
    const ends = results.map((result) => (result.status === "fulfilled" ? result.value.changed : result.reason));
    expect(ends.filter((end) => end === true)).toHaveLength(1);
    for (const end of ends) if (typeof end !== "boolean") expect(end).toEqual(coded("CHANGED"));
  }
  const { audit } = await app.operator({ who: "ada" }).receipt(receiptId);
  expect(audit.map(({ action }) => action)).toEqual(["resolve acknowledge", "resolve keep"]);
});

test("apply runs a parked event now, and it parks again while what it waits for is missing", async () => {
  const app = await shop();
  const operator = app.operator({ who: "ada" });
  expect(await pay(app, { order: "order-2" })).toBe("parked");
  const { id: receiptId } = await newest(app);
  expect(await operator.receipt(receiptId)).toMatchObject({
    waitsFor: { kind: "order", id: "order-2" },
    next: { needsOperator: false },
  });
  expect((await operator.apply({ receiptId })).says).toBe("It is parked now: waits for order");
  await app.transaction({ tenant: "acme" }, ({ tx }) => tx.sql`INSERT INTO orders VALUES ('order-2', 'new')`);
  expect((await operator.apply({ receiptId })).says).toBe("It is applied now");
});

test("apply takes a suspect, and keep closes one that is a replay", async () => {
  const app = await shop();
  const operator = app.operator({ who: "ada" });
  expect(await push(app, "refs/heads/main", "d-1")).toBe("applied");
  expect(await push(app, "refs/heads/main", "d-2")).toBe("suspect");
  const { id: receiptId } = await newest(app);
  expect((await operator.attention())[0]).toMatchObject({
    kind: "receipt",
    receipt: { id: receiptId, outcome: "suspect" },
  });
  await expect(operator.resolve({ receiptId, choice: "take" })).rejects.toEqual(
    coded(
      "NOT_ALLOWED",
      /it is suspect, not in conflict; apply it if it is genuine, or close it by resolve keep if it is a replay/,
    ),
  );
  expect(await operator.apply({ receiptId })).toMatchObject({ changed: true });
  expect(await push(app, "refs/heads/main", "d-3")).toBe("suspect");
  const replay = await newest(app);
  expect(await operator.resolve({ receiptId: replay.id, choice: "keep" })).toMatchObject({ changed: true });
  expect(await operator.attention()).toEqual([]);
});

test("events of a type that nothing was mapped to are applied, once each, after the mapping is there", async () => {
  const before = await shop({ handlers: [] });
  for (const id of ["evt_1", "evt_2"]) expect(await pay(before, { id })).toBe("ignored");
  expect(await before.operator({ who: "ada" }).attention()).toEqual([]);
  const app = await shop({}, before.address);
  const operator = app.operator({ who: "ada" });
  const receipts = await operator.receipts({ outcome: "ignored" });
  expect(receipts.map(({ reason }) => reason)).toEqual(["unmapped", "unmapped"]);
  expect(await operator.receipt(receipts[0]!.id)).toMatchObject({
    next: { text: expect.stringContaining("until a handler is mapped") },
  });
  const says: string[] = [];
  for (const { id: receiptId } of receipts.toReversed()) says.push((await operator.apply({ receiptId })).says);
  expect(says).toEqual(["It is applied now", "It is refused now: order is paid"]);
  expect(await owed(app)).toBe(1);
});

test("an unreadable event is quarantined again by apply, and closed by keep", async () => {
  const app = await shop();
  const operator = app.operator({ who: "ada" });
  const body = Buffer.from('{"id":"evt_1","type":"payment_intent.succeeded","type":"x","data":{}}');
  expect(await deliver(app, app.trialDelivery("stripe", { body }))).toBe("quarantined");
  const { id: receiptId } = await newest(app);
  expect((await operator.apply({ receiptId })).says).toMatch(/^It is quarantined now/);
  expect(await operator.resolve({ receiptId, choice: "keep", why: "a test of the provider's" })).toMatchObject({
    changed: true,
  });
  expect(await newest(app)).toMatchObject({ outcome: "resolved" });
});

test("a conflict is resolved by keeping what is there, or by taking the event's content", async () => {
  const app = await shop();
  const operator = app.operator({ who: "ada" });
  const kept = async () => {
    const key = { connection: "github", account: "", kind: "project", id: "p-1" };
    return (await app.runtime.store.reader.snapshot(key))?.state;
  };
  expect(await push(app, "first", "d-1")).toBe("applied");
  expect(await push(app, "second", "d-2")).toBe("conflict");
  expect(await push(app, "third", "d-3")).toBe("conflict");
  const [third, second] = await operator.receipts({ outcome: "conflict" });
  await expect(operator.apply({ receiptId: second!.id })).rejects.toEqual(
    coded("NOT_ALLOWED", /in conflict; resolve it: keep what is there/),
  );
  const keep = { receiptId: second!.id, version: second!.version, choice: "keep" } as const;
  expect(await operator.resolve(keep)).toMatchObject({ changed: true });
  await expect(operator.resolve(keep)).rejects.toEqual(coded("CHANGED"));
  expect(await operator.resolve({ receiptId: second!.id, choice: "keep" })).toEqual({
    changed: false,
    says: "It is resolved already",
  });
  expect(await kept()).toBe('{"name":"first"}');
  expect(await operator.resolve({ receiptId: third!.id, choice: "take" })).toMatchObject({ changed: true });
  expect(await kept()).toBe('{"name":"third"}');
  expect((await operator.receipt(third!.id)).audit).toMatchObject([{ action: "resolve take" }]);
  expect(await push(app, "second", "d-2")).toBe("duplicate");
});

test("a conflict of an operation key is mended in its handler and reprocessed: apply, take and what is next say so", async () => {
  const owing = (key: (id: string) => string) =>
    stripe.on("payment_intent.succeeded", ({ event, owe }) =>
      owe(ship, { key: [key(event.id), "fulfil", "v1"], input: { order: event.id } }),
    );
  const app = await shop({ handlers: [owing(() => "order-1")] });
  expect(await pay(app)).toBe("applied");
  expect(await pay(app, { id: "evt_2", amount: 2 })).toBe("conflict");
  const { id: receiptId } = await newest(app);
  const operator = app.operator({ who: "ada" });
  const says = /mend the (operation )?key in its handler and reprocess it/;
  await expect(operator.resolve({ receiptId, choice: "take" })).rejects.toEqual(coded("NOT_ALLOWED", says));
  await expect(operator.apply({ receiptId })).rejects.toEqual(coded("NOT_ALLOWED", says));
  expect((await operator.receipt(receiptId)).next.text).toMatch(says);
  await app.stop();
  const mended = await shop({ handlers: [owing((id) => id)] }, app.address);
  expect((await mended.operator({ who: "ada" }).reprocess({ receiptId })).says).toBe("It is applied now");
  expect(await owed(mended)).toBe(2);
});

test("a mismatch is on the list until it is acknowledged, and the event stays as it was decided", async () => {
  const app = await shop();
  const operator = app.operator({ who: "ada" });
  expect(await pay(app)).toBe("applied");
  expect(await pay(app, { amount: 2 })).toBe("duplicate");
  const { id: receiptId } = await newest(app);
  expect(await operator.attention()).toMatchObject([
    { kind: "receipt", mismatches: 1, receipt: { outcome: "applied" } },
  ]);
  expect(await operator.resolve({ receiptId, choice: "acknowledge", why: "asked the provider" })).toMatchObject({
    changed: true,
  });
  expect(await operator.resolve({ receiptId, choice: "acknowledge" })).toMatchObject({ changed: false });
  expect(await operator.attention()).toEqual([]);
  const { audit, receipt, redeliveries } = await operator.receipt(receiptId);
  expect(audit).toMatchObject([{ action: "resolve acknowledge", why: "asked the provider" }]);
  expect(receipt.outcome).toBe("applied");
  expect(redeliveries).toMatchObject([{ digest: expect.any(String) }]);
});

test("reprocess passes the guards again: what was done stays applied and is not owed twice", async () => {
  const app = await shop();
  const operator = app.operator({ who: "ada" });
  await pay(app);
  const { id: receiptId, version } = await newest(app);
  expect(await operator.reprocess({ receiptId, version })).toEqual({
    changed: true,
    says: "It is applied now",
  });
  expect((await newest(app)).outcome).toBe("applied");
  await expect(operator.reprocess({ receiptId, version })).rejects.toEqual(coded("CHANGED"));
  expect(await owed(app)).toBe(1);
});

test("a failing reprocess of a final event is undone, told, and opens nothing", async () => {
  const app = await shop();
  const operator = app.operator({ who: "ada" });
  await pay(app);
  const { id: receiptId, version } = await newest(app);
  await app.transaction({ tenant: "acme" }, ({ tx }) => tx.sql`ALTER TABLE orders RENAME TO orders_away`);
  await expect(operator.reprocess({ receiptId })).rejects.toEqual(coded("HANDLER_FAILED"));
  expect(await newest(app)).toMatchObject({ outcome: "applied", version, dueAt: null });
});

test("an event whose bytes are gone cannot run again, and says so", async () => {
  const app = await shop({ retention: { bytes: "0s" } });
  const operator = app.operator({ who: "ada" });
  await pay(app);
  const { id: receiptId } = await newest(app);
  await expect(operator.reprocess({ receiptId })).rejects.toEqual(
    coded("BYTES_EXPIRED", /removed by retention; ask the provider/),
  );
  await expect(operator.payload(receiptId)).rejects.toEqual(coded("BYTES_EXPIRED"));
  expect(await operator.receipt(receiptId)).toMatchObject({ bytes: null, audit: [] });
});

test("an event resolved on a connection that keeps no bytes loses them with the decision", async () => {
  const app = await shop({ fails: true, retention: { bytes: "0s" } });
  const operator = app.operator({ who: "ada" });
  await pay(app);
  const { id: receiptId } = await newest(app);
  expect((await operator.payload(receiptId)).bytes.length).toBeGreaterThan(0);
  await operator.resolve({ receiptId, choice: "keep" });
  await expect(operator.payload(receiptId)).rejects.toEqual(coded("BYTES_EXPIRED"));
});

test("a receipt that is not there is named, with where to look", async () => {
  const operator = (await shop()).operator({ who: "ada" });
  for (const act of [
    () => operator.receipt(9),
    () => operator.payload(9),
    () => operator.apply({ receiptId: 9 }),
    () => operator.reprocess({ receiptId: 9 }),
  ]) {
    await expect(act()).rejects.toEqual(coded("NOT_FOUND", /receipt 9: .*list the receipts/));
  }
});
