/** A transaction that lost a race runs again from its start, in a store that loses on purpose. */
import { type App, defineApp, effect, type } from "counterfoil";
import { expect, onTestFinished, test } from "vitest";
import { CounterfoilError } from "../../src/domain/errors.ts";
import { storeAt } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";
import { wrappedStore } from "../support/wrapped-store.ts";

const tell = effect("tell/v1", {
  input: type<{ n: number }>(),
  request: ({ input }) => ({ method: "POST", url: "https://partner.example/v1/notes", json: input }),
  idempotency: "none",
});

/** A real store whose next transactions lose a race when their work is done, as a deadlock's victim does. */
async function losing() {
  const real = storeAt((await ownDatabase()).address);
  const races = { toLose: 0, lost: 0 };
  const store = wrappedStore(real, (body, options) =>
    real.transaction(async (tx) => {
      const value = await body(tx);
      if (races.toLose === 0) return value;
      races.toLose -= 1;
      races.lost += 1;
      throw new CounterfoilError("RACE_LOST", "Cannot commit: injected");
    }, options),
  );
  const app: App = defineApp({
    store,
    connections: [],
    effects: [tell],
    limits: { rerunsMax: 4 },
    testing: { random: () => 0 },
  });
  await app.open();
  onTestFinished(() => app.stop());
  await rows(app, "CREATE TABLE notes (n INTEGER)");
  const heard: string[] = [];
  app.runtime.wake.on("owed", () => void heard.push("owed"));
  let runs = 0;
  const work = (): Promise<string> =>
    app.transaction({ tenant: "acme" }, async ({ tx, owe }) => {
      runs += 1;
      await tx.sql`INSERT INTO notes VALUES (${runs})`;
      await owe(tell, { key: ["a"], input: { n: 1 } });
      return `run ${runs}`;
    });
  return { app, races, heard, work, kept: () => rows(app, "SELECT n FROM notes") };
}

test("only the run that commits leaves anything, and wakes anybody", async () => {
  const { races, heard, work, kept } = await losing();
  races.toLose = 3;
  expect(await work()).toBe("run 4");
  expect(await kept()).toEqual([{ n: 4 }]);
  expect(heard).toEqual(["owed"]);
});

test("after a bounded number of lost races the caller is told that the store is busy, and nothing is kept", async () => {
  const { races, heard, work, kept } = await losing();
  races.toLose = 4;
  await expect(work()).rejects.toMatchObject({
    code: "STORE_BUSY",
    message: expect.stringContaining("4 races in a row"),
  });
  expect([races.lost, heard]).toEqual([4, []]);
  expect(await kept()).toEqual([]);
  expect(await work()).toBe("run 5");
});
