/**
 * The store fails once, at every step of receiving in turn, before and after: nothing is acknowledged
 * that is not kept, nothing is kept by halves, and the sender's next try finds its way.
 */
import { CounterfoilError } from "counterfoil";
import { expect, test } from "vitest";
import { engine } from "../support/engine.ts";
import { type HooksServer, startHooks } from "../support/hooks-server.ts";
import { payment, placeOrders, rows } from "../support/order-app.ts";

/** What a step may fail with: the codes of SQLite, or what PostgreSQL's come to. */
const troubles: readonly (readonly [string, () => Error])[] =
  engine === "sqlite"
    ? [
        ["SQLITE_FULL", () => Object.assign(new Error("injected"), { errcode: 13 })],
        ["SQLITE_IOERR_WRITE", () => Object.assign(new Error("injected"), { errcode: 778 })],
        ["SQLITE_BUSY", () => Object.assign(new Error("injected"), { errcode: 5 })],
      ]
    : (["STORE_FULL", "STORE_UNAVAILABLE", "STORE_BUSY"] as const).map((code) => [
        code,
        () => new CounterfoilError(code, "Cannot run a statement: injected"),
      ]);
const unheardOf = "an error that nobody has heard of";

/** Fails at one step of the store that was chosen beforehand, once. */
class FaultyStep {
  readonly #error: () => Error;
  #stepsLeft = 0;
  failed: string | undefined;

  constructor(error: () => Error) {
    this.#error = error;
  }

  arm(step: number): void {
    this.#stepsLeft = step;
    this.failed = undefined;
  }

  readonly probe = (point: string): void => {
    // A BEGIN that fails has not begun: SQLite takes the lock first.
    if (this.#stepsLeft === 0 || !point.startsWith(`${engine}.`) || point === "sqlite.begin:after") return;
    this.#stepsLeft -= 1;
    if (this.#stepsLeft > 0) return;
    this.failed = point;
    throw this.#error();
  };
}

/** What is there of an event: its receipt, its order, its obligation. */
async function books({ app }: HooksServer, order: string): Promise<readonly unknown[]> {
  const { reader } = app.runtime.store;
  const [receipt] = await reader.receipts({ eventId: `evt-${order}` }, { limit: 1 });
  const [row] = await rows<{ status: string }>(app, `SELECT status FROM orders WHERE id = '${order}'`);
  const owed = await reader.obligations({ keyPrefix: `${order}/` }, { limit: 2 });
  return [receipt?.outcome ?? "none", row?.status, owed.length];
}

const nothing = ["none", "awaiting_payment", 0];
const held = ["held", "awaiting_payment", 0];
const all = ["applied", "paid", 1];

test.each([...troubles, [unheardOf, () => new Error("injected")] as const])(
  "%s at any step leaves all of an event or none of it, and a 2xx only with all",
  async (name, error) => {
    const step = new FaultyStep(error);
    await using hooks = await startHooks({ probe: step.probe, limits: { lockMs: 10_000 } });
    const seen: string[] = [];
    for (let n = 1; ; n += 1) {
      const order = `order-of-step-${n}`;
      await placeOrders(hooks.app, order);
      step.arm(n);
      const { status } = await hooks.post(payment(`evt-${order}`, order));
      if (step.failed === undefined) break;
      const where = `${step.failed}, answered ${status}`;
      seen.push(step.failed);
      const kept = await books(hooks, order);
      expect(status < 300 ? [all, held] : [all, nothing], where).toContainEqual(kept);
      // Whatever keeps the log from being synced, the commit is unknown.
      const isTrouble = name !== unheardOf || step.failed.startsWith("sqlite.log.sync");
      if (status >= 300) expect(status, where).toBe(isTrouble ? 503 : 500);

      const again = await hooks.post(payment(`evt-${order}`, order));
      const expected =
        kept[0] === "none" ? '{"outcome":"applied"' : `{"outcome":"duplicate","first":"${String(kept[0])}"`;
      expect(again.body.toString(), where).toContain(expected);
      expect(await books(hooks, order), where).toEqual(kept[0] === "held" ? held : all);
    }
    for (const step of ["begin", "receipt", "query", "obligation", "commit"]) {
      expect(seen).toContainEqual(expect.stringMatching(`^${engine}\\.${step}\\b`));
    }
    if (engine === "sqlite") expect(seen).toContainEqual(expect.stringMatching(/log\.sync/));
  },
);
