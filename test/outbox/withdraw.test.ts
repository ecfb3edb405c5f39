/** Operations that the application takes back: before anything started, while a call runs, and after. */
import { describe, expect, test } from "vitest";
import { hasCode } from "../../src/domain/errors.ts";
import type { Withdrawal } from "../../src/domain/withdraw.ts";
import { Operator } from "../../src/operator/operator.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { transact } from "../../src/work/transact.ts";
import { runUnit } from "../../src/work/unit.ts";
import { noConnections } from "../support/no-connections.ts";
import { type Desk, type Office, openOffice, type ShipOptions, tenant } from "./office.ts";

const hour = 3_600_000;

const scope = { tenant, connection: "", account: "", receiptId: null };

function withdraw({ runtime }: Desk, order: string): Promise<Withdrawal> {
  return transact(runtime, (tx, signals) =>
    runUnit(tx, { scope, runtime, signals }, (work) => work.withdraw([order, "fulfil", "v1"])),
  );
}

function operator({ runtime }: Desk): Operator {
  return new Operator({ runtime, connections: noConnections(runtime), who: "ada" });
}

/** A desk whose effect notes in a table what its hook was told. */
async function notingDesk(office: Office, options: ShipOptions = {}): Promise<Desk> {
  const ship = office.effect({
    abandoned: ({ tx, operation, abandoned: { by, reached } }) =>
      tx.sql`INSERT INTO given_up VALUES (${operation.input.order}, ${by}, ${reached})`,
    ...options,
  });
  const desk = await office.desk({ effects: [ship] });
  await transact(desk.runtime, (tx) =>
    tx.run("CREATE TABLE IF NOT EXISTS given_up (id TEXT PRIMARY KEY, by_whom TEXT, reached TEXT)", []),
  );
  return desk;
}

async function givenUp({ runtime }: Desk): Promise<readonly string[]> {
  const rows = await transact(runtime, (tx) => tx.run("SELECT id, by_whom, reached FROM given_up ORDER BY id", []));
  return rows.map(({ id, by_whom: by, reached }) => [id, by, reached].join(" "));
}

describe("an operation that never started", () => {
  test("is taken back at once: nothing is sent, and its hook runs once", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office);
    await desk.owe("order-1");
    expect(await withdraw(desk, "order-1")).toEqual({ result: "withdrawn", state: "withdrawn", reached: "no" });
    await desk.work();
    expect(await withdraw(desk, "order-1")).toEqual({ result: "withdrawn", state: "withdrawn", reached: "no" });
    await desk.work();
    expect(office.provider.counts().requests).toBe(0);
    expect(await givenUp(desk)).toEqual(["order-1 withdrawn no"]);
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "withdrawn", dueAt: null, reason: "taken back by the application" });
    expect(attempts).toMatchObject([{ kind: "abandon", verdict: "done" }]);
  });

  test("may be taken back in the transaction that owes it, in either order of the calls", async () => {
    await using office = await openOffice();
    const desk = await office.desk();
    const key = ["order-1", "fulfil", "v1"] as const;
    const both = (order: readonly ["owe" | "withdraw", "owe" | "withdraw"]): Promise<void> =>
      transact(desk.runtime, (tx, signals) =>
        runUnit(tx, { scope, runtime: desk.runtime, signals }, async ({ owe, withdraw: takeBack }) => {
          for (const call of order) {
            await (call === "owe" ? owe(office.ship, { key, input: { order: "order-1" } }) : takeBack(key));
          }
        }),
      );
    await expect(both(["withdraw", "owe"])).rejects.toSatisfy((error) => hasCode(error, "OPERATION_CONFLICT"));
    await both(["owe", "withdraw"]);
    expect(await desk.state("order-1")).toBe("withdrawn");
    await expect(desk.owe("order-1")).rejects.toThrow(/the operation was withdrawn; .* new version/);
  });

  test("is a conflict for whoever owes it later, also where nobody had owed it before", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office);
    expect(await withdraw(desk, "order-1")).toMatchObject({ result: "withdrawn", reached: "no" });
    await expect(desk.owe("order-1")).rejects.toSatisfy((error) => hasCode(error, "OPERATION_CONFLICT"));
    await desk.work();
    expect(office.provider.counts().requests).toBe(0);
    expect(await givenUp(desk)).toEqual([]);
  });

  test("is taken back when it is stuck, or was never sent for certain", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office, { attemptsMax: 1 });
    office.provider.failWhen(() => ({ when: "before", kind: "answer", status: 429 }));
    await desk.owe("order-1");
    await desk.work();
    expect(await desk.state("order-1")).toBe("stuck");
    expect(await withdraw(desk, "order-1")).toMatchObject({ result: "withdrawn" });
    await desk.work();
    expect(await givenUp(desk)).toEqual(["order-1 withdrawn no"]);
  });
});

describe("while its call runs", () => {
  async function whileSending(office: Office, desk: Desk): Promise<void> {
    desk.worker.start();
    await eventually(() => office.provider.held === 1);
    expect(await withdraw(desk, "order-1")).toEqual({ result: "requested", state: "sending", reached: "maybe" });
  }

  test("a call that succeeds is done all the same", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office);
    office.provider.failWhen(() => ({ when: "before", kind: "hold" }));
    await desk.owe("order-1");
    await whileSending(office, desk);
    office.provider.release();
    await eventually(async () => (await desk.state("order-1")) === "done");
    expect(await withdraw(desk, "order-1")).toEqual({ result: "done", state: "done", reached: "yes" });
    expect(await givenUp(desk)).toEqual([]);
  });

  test("a call that certainly did nothing is the last one", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office);
    await desk.owe("order-1");
    // Asked back right before the answer, which comes while the call still runs.
    const held = office.provider;
    held.failWhen(() => ({ when: "before", kind: "hold" }));
    desk.worker.start();
    await eventually(() => held.held === 1);
    await withdraw(desk, "order-1");
    held.failWhen(() => ({ when: "before", kind: "answer", status: 429 }));
    await desk.worker.stop({ graceMs: 0 });
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "uncertain", dueAt: null, reached: "maybe" });
    held.release();
  });

  test("a claim whose turn comes after all starts no attempt", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office);
    office.provider.failWhen(() => ({ when: "before", kind: "answer", status: 429 }));
    await desk.owe("order-1");
    await desk.work();
    const { id } = (await desk.see("order-1")).obligation;
    // As it is when the request is noted right after the end of the call was read.
    await transact(desk.runtime, (tx) => tx.requestCancel(id));
    await desk.work();
    expect(await desk.state("order-1")).toBe("withdrawn");
    expect(office.provider.counts().requests).toBe(1);
    expect(await givenUp(desk)).toEqual(["order-1 withdrawn no"]);
  });

  test("a call of which nobody heard is looked up, and taken back where the provider has nothing", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office, { lookup: office.lookup });
    office.provider.failWhen(({ method }) => (method === "POST" ? { when: "before", kind: "reset" } : undefined));
    await desk.owe("order-1");
    await desk.work();
    expect(await withdraw(desk, "order-1")).toEqual({ result: "requested", state: "owed", reached: "maybe" });
    for (let n = 0; n < 4; n += 1) {
      await desk.work();
      office.clock.advance(hour);
    }
    expect(office.provider.counts().effects).toBe(0);
    expect(office.provider.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
    expect(await givenUp(desk)).toEqual(["order-1 withdrawn maybe"]);
  });

  test("a call whose effect a lookup finds is done", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office, { lookup: office.lookup });
    office.provider.failWhen(({ method }) => (method === "POST" ? { when: "after", kind: "reset" } : undefined));
    await desk.owe("order-1");
    await desk.work();
    await withdraw(desk, "order-1");
    for (let n = 0; n < 4; n += 1) {
      await desk.work();
      office.clock.advance(hour);
    }
    expect(await desk.state("order-1")).toBe("done");
    expect(office.provider.counts()).toMatchObject({ effects: 1 });
  });

  test("a call of which nobody can tell is the operator's, who may not send again", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office);
    office.provider.failWhen(() => ({ when: "before", kind: "reset" }));
    await desk.owe("order-1");
    await desk.work();
    await withdraw(desk, "order-1");
    await desk.work();
    expect((await desk.see("order-1")).obligation).toMatchObject({ state: "uncertain", dueAt: null });
    expect(office.provider.counts().requests).toBe(1);
    const target = { tenant, operationKey: "order-1/fulfil/v1" };
    await expect(operator(desk).retry(target)).rejects.toThrow(/asked for it back/);
    await expect(operator(desk).renewKey({ ...target, confirm: true })).rejects.toThrow(/asked for it back/);
    expect((await operator(desk).obligation(tenant, target.operationKey)).next.text).toContain(
      "cancel it if it did not",
    );
    await operator(desk).cancel({ ...target, reason: "the carrier has nothing" });
    await desk.work();
    expect(await givenUp(desk)).toEqual(["order-1 cancelled maybe"]);
  });
});

describe("the abandoned hook", () => {
  test("runs again from what is stored when it fails, then is the operator's, who has it run again", async () => {
    await using office = await openOffice({ limits: { hookTriesMax: 2 } });
    let broken = true;
    const desk = await notingDesk(office, {
      abandoned: ({ tx, operation }) => {
        if (broken) throw new TypeError("the hook is broken");
        return tx.sql`INSERT INTO given_up VALUES (${operation.input.order}, ${"hook"}, ${"no"})`;
      },
    });
    await desk.owe("order-1");
    await withdraw(desk, "order-1");
    for (let n = 0; n < 3; n += 1) {
      await desk.work();
      office.clock.advance(hour);
    }
    const { obligation, attempts } = await desk.see("order-1");
    expect(obligation).toMatchObject({ state: "withdrawn", tries: 2, dueAt: null });
    expect(attempts.map(({ kind, verdict }) => `${kind} ${verdict}`)).toEqual(Array(2).fill("abandon hook_failed"));
    const listed = await operator(desk).attention();
    expect(listed).toMatchObject([{ kind: "obligation", obligation: { id: obligation.id } }]);
    broken = false;
    const target = { tenant, operationKey: "order-1/fulfil/v1" };
    expect(await operator(desk).retry(target)).toMatchObject({ changed: true });
    await desk.work();
    expect(await givenUp(desk)).toEqual(["order-1 hook no"]);
    expect(await operator(desk).attention()).toEqual([]);
    expect((await operator(desk).obligation(tenant, target.operationKey)).next.text).toBe("nothing more is owed");
  });

  test("of a worker that is lost while it runs is run by another, once", async () => {
    await using office = await openOffice();
    const desk = await notingDesk(office);
    await desk.owe("order-1");
    await withdraw(desk, "order-1");
    // A claim whose holder then dies.
    const lanes = await transact(desk.runtime, (tx) => tx.dueLanes());
    await transact(desk.runtime, (tx) =>
      tx.claim({ lanes: lanes.map((lane) => ({ ...lane, limit: 1 })), worker: "lost", leaseMs: 60_000 }),
    );
    await desk.work();
    expect(await givenUp(desk)).toEqual([]);
    for (let n = 0; n < 2; n += 1) {
      office.clock.advance(hour);
      await desk.work();
    }
    expect(await givenUp(desk)).toEqual(["order-1 withdrawn no"]);
    expect(office.provider.counts().requests).toBe(0);
  });

  test("may owe what follows, in its own commit", async () => {
    await using office = await openOffice();
    const mail = office.effect({}, "mail/v1");
    const ship = office.effect({
      abandoned: ({ owe, operation }) =>
        owe(mail, { key: [operation.input.order, "tell", "v1"], input: operation.input }),
    });
    const desk = await office.desk({ effects: [ship, mail] });
    await desk.owe("order-1");
    await withdraw(desk, "order-1");
    await desk.work();
    expect(office.provider.effects.map(({ ref }) => ref)).toEqual(["acme/order-1/tell/v1"]);
  });
});
