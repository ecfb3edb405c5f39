/** Moves of a state of one's own: one conditional UPDATE, listed pairs only. */
import { type App, defineApp, transitions } from "counterfoil";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { dialect } from "../support/dialect.ts";
import { storeAt } from "../support/engine.ts";
import { rows } from "../support/order-app.ts";
import { ownDatabase } from "../support/own-database.ts";

type Status = "new" | "paid" | "done";
const options = {
  table: `${dialect.schema}.orders`,
  key: ["tenant", "id"],
  column: "status",
  from: { new: [], paid: ["new"], done: ["new", "paid"] },
} as const;
const status = transitions<Status>(options);

let app: App;
beforeEach(async () => {
  app = defineApp({ store: storeAt((await ownDatabase()).address), connections: [], effects: [] });
  onTestFinished(() => app.stop());
  await rows(app, 'CREATE TABLE orders (tenant TEXT, id TEXT, status TEXT, "order" TEXT)');
  await rows(app, "INSERT INTO orders VALUES ('a', '1', 'new', 'x'), ('b', '1', 'new', 'y')");
});

const move = (tenant: string, id: string, to: Status) =>
  app.transaction({ tenant: "acme" }, ({ tx }) => status.move(tx, [tenant, id], to));

test("moves one row by its whole key, and tells the state that stood in the way", async () => {
  expect(await move("a", "1", "paid")).toEqual({ moved: true });
  expect(await move("a", "1", "paid")).toEqual({ moved: false, current: "paid" });
  expect(await move("a", "1", "new")).toEqual({ moved: false, current: "paid" });
  expect(await move("a", "1", "done")).toEqual({ moved: true });
  expect(await rows(app, "SELECT tenant, status FROM orders ORDER BY tenant")).toEqual([
    { tenant: "a", status: "done" },
    { tenant: "b", status: "new" },
  ]);
});

test("of a row that is not there tells nothing, and makes none", async () => {
  expect(await move("a", "2", "paid")).toEqual({ moved: false, current: undefined });
  expect(await rows(app, "SELECT count(*) AS n FROM orders")).toEqual([{ n: 2 }]);
});

test.each(["gone", "constructor", "toString"])(
  "to %s, which is no declared state, is a mistake and not a refusal",
  async (to) => {
    await expect(move("a", "1", to as Status)).rejects.toThrow("the state to move to is not a declared one");
  },
);

test("names are quoted, so that a keyword is a name, and anything else is refused where it is declared", async () => {
  const reserved = transitions<"x" | "z">({ table: "orders", key: ["id"], column: "order", from: { x: [], z: ["x"] } });
  expect(await app.transaction({ tenant: "acme" }, ({ tx }) => reserved.move(tx, ["1"], "z"))).toEqual({ moved: true });
  for (const bad of ["a; DROP TABLE orders", 'a"b', "", "a b", "a.b.c"]) {
    expect(() => transitions({ ...options, table: bad })).toThrow(/as a table or column name/);
    expect(() => transitions({ ...options, column: bad })).toThrow(/as a table or column name/);
    expect(() => transitions({ ...options, key: [bad] })).toThrow(/as a table or column name/);
  }
});
