import { deepEqual, equal, ok } from "node:assert/strict";
import { hasCode } from "../domain/errors.ts";
import { type AdapterCase, failure, parcel, run, thing, Undo } from "./adapter-bench.ts";

const acme = { tenant: "acme", connection: "exercise-a" };

/** What is done inside the user's transaction, and what becomes of it. */
export const workCases: Readonly<Record<string, AdapterCase>> = {
  "what is owed is there once the user commits, and not before": async (bench) => {
    const given = await bench.subject.transact(async (transaction) => {
      await bench.note(transaction, "before");
      const value = await bench.app.within(transaction).run(acme, async ({ owe }) => {
        await owe(parcel, { key: [bench.id, "one"], input: { to: 'a "b" \\ ? $1 :c ü' } });
        return "given";
      });
      await bench.note(transaction, "after");
      deepEqual(await bench.owed(), []);
      return value;
    });
    deepEqual([given, await bench.owed(), await bench.notes()], ["given", ["one"], ["after", "before"]]);
    const [obligation] = await bench.app.operator({ who: "exercise" }).obligations({ keyPrefix: bench.id });
    const key = obligation?.operationKey ?? "";
    const detail = await bench.app.operator({ who: "exercise" }).obligation("acme", key);
    equal(detail?.input, '{"to":"a \\"b\\" \\\\ ? $1 :c ü"}');
  },

  "a rollback leaves nothing": async (bench) => {
    const undo = new Undo();
    const undone = bench.subject.transact(async (transaction) => {
      const { run: work, receive } = bench.app.within(transaction);
      await work(acme, async ({ owe, snapshot }) => {
        await owe(parcel, { key: [bench.id, "one"], input: { to: "a" } });
        await snapshot(thing, { id: bench.id, revision: 5, state: { name: "new" } });
      });
      await receive("exercise-a", bench.delivery("first"));
      throw undo;
    });
    equal(await failure(undone), undo);
    deepEqual([await bench.owed(), await bench.outcome("first")], [[], undefined]);
    const older = await bench.app.transaction(acme, ({ snapshot }) =>
      snapshot(thing, { id: bench.id, revision: 4, state: { name: "old" } }),
    );
    equal(older, "applied");
  },

  "a body that throws is undone with all that was done in it, and the transaction goes on": async (bench) => {
    const thrown = new Undo();
    await bench.subject.transact(async (transaction) => {
      await bench.note(transaction, "before");
      const body = bench.app.within(transaction).run(acme, async ({ owe, tx }) => {
        await owe(parcel, { key: [bench.id, "one"], input: { to: "a" } });
        await tx.sql`INSERT INTO counterfoil_exercise (id) VALUES (${`${bench.id}-within`})`;
        await bench.note(transaction, "by-the-tool");
        throw thrown;
      });
      equal(await failure(body), thrown);
      await bench.note(transaction, "after");
    });
    deepEqual([await bench.owed(), await bench.notes()], [[], ["after", "before"]]);
  },

  "a statement that fails is undone, and the transaction goes on unless the tool ends it": async (bench) => {
    const done = bench.subject.transact(async (transaction) => {
      await bench.note(transaction, "before");
      const body = bench.app.within(transaction).run(acme, async ({ owe, tx }) => {
        await owe(parcel, { key: [bench.id, "one"], input: { to: "a" } });
        await tx.sql`INSERT INTO counterfoil_exercise (id) VALUES (${`${bench.id}-before`})`.catch(() => undefined);
        return "looks fine";
      });
      ok((await failure(body)) instanceof Error);
      await bench.note(transaction, "after");
    });
    const isEnded = bench.subject.known?.failureEndsTransaction ?? false;
    if (isEnded) await failure(done);
    else await done;
    deepEqual([await bench.owed(), await bench.notes()], [[], isEnded ? [] : ["after", "before"]]);
  },

  "a key or a revision that is taken by something else is a conflict, and the transaction goes on": async (bench) => {
    await bench.app.transaction(acme, async ({ owe, snapshot }) => {
      await owe(parcel, { key: [bench.id, "taken"], input: { to: "a" } });
      await snapshot(thing, { id: bench.id, revision: 7, state: { name: "kept" } });
    });
    await bench.subject.transact(async (transaction) => {
      const { run: work } = bench.app.within(transaction);
      const owed = work(acme, ({ owe }) => owe(parcel, { key: [bench.id, "taken"], input: { to: "b" } }));
      ok(hasCode(await failure(owed), "OPERATION_CONFLICT"));
      const state = { name: "other" };
      const replaced = work(acme, ({ snapshot }) => snapshot(thing, { id: bench.id, revision: 7, state }));
      ok(hasCode(await failure(replaced), "SNAPSHOT_CONFLICT"));
      const results = await work(acme, async ({ owe, snapshot }) => {
        await owe(parcel, { key: [bench.id, "taken"], input: { to: "a" } });
        return [
          await snapshot(thing, { id: bench.id, revision: "6", state }),
          await snapshot(thing, { id: bench.id, revision: 90071992547409930n, state }),
        ];
      });
      deepEqual(results, ["stale", "applied"]);
    });
    deepEqual(await bench.owed(), ["taken"]);
  },

  "what waits for a thing is applied once its arrival is committed": async (bench) => {
    let isThere = false;
    bench.handle = ({ waitFor }) => (isThere ? undefined : waitFor("thing", bench.id));
    await bench.app.receive("exercise-a", bench.delivery("child"));
    equal(await bench.outcome("child"), "parked");
    isThere = true;
    await bench.subject.transact((transaction) =>
      bench.app.within(transaction).run(acme, ({ arrived }) => arrived("thing", bench.id)),
    );
    await bench.app.drain();
    equal(await bench.outcome("child"), "applied");
  },

  "tenants stay apart": async (bench) => {
    await bench.subject.transact(async (transaction) => {
      for (const [tenant, to] of [
        ["acme", "a"],
        ["globex", "g"],
      ] as const) {
        const { run: work } = bench.app.within(transaction);
        await work({ tenant }, ({ owe }) => owe(parcel, { key: [bench.id, "same"], input: { to } }));
      }
      const foreign = bench.app.within(transaction).run({ ...acme, tenant: "globex" }, () => undefined);
      ok((await failure(foreign)) instanceof TypeError);
    });
    deepEqual([await bench.owed("acme"), await bench.owed("globex")], [["same"], ["same"]]);
  },

  "values go in and come out as the documentation says": async (bench) => {
    const isPostgres = bench.app.runtime.store.kind === "postgres";
    await bench.subject.transact(async (transaction) => {
      await bench.app.within(transaction).run(acme, async ({ tx }) => {
        const text = 'it\'s \\ ? ?? $1 :a "ü"';
        const [row] = await tx.sql`
          SELECT CAST(${text} AS text) AS text, CAST(${7} AS bigint) AS small_number,
            CAST(${null} AS text) AS empty, '?' AS sign, CAST(${2.5} AS double precision) AS real`;
        const small = bench.subject.known?.bigintIsText ? "7" : 7;
        deepEqual({ ...row }, { text, small_number: small, empty: null, sign: "?", real: 2.5 });
        if (isPostgres) {
          const bytes = new Uint8Array([0, 92, 255]);
          const [more] =
            await tx.sql`SELECT ${bytes}::bytea AS bytes, ${true}::boolean AS yes, ${'{"a":[1]}'}::jsonb ->> 'a' AS json`;
          deepEqual({ ...more }, { bytes, yes: true, json: "[1]" });
        }
        const none = await tx.sql`UPDATE counterfoil_exercise SET note = ${"x"} WHERE id = ${`${bench.id}-nobody`}`;
        const one = await tx.sql`INSERT INTO counterfoil_exercise (id) VALUES (${`${bench.id}-one`})`;
        const back =
          await tx.sql`UPDATE counterfoil_exercise SET note = ${text} WHERE id = ${`${bench.id}-one`} RETURNING note`;
        deepEqual([none.changes, one.changes, back.changes, back[0]?.["note"]], [0, 1, 1, text]);
      });
      await run(transaction, "SELECT 1");
    });
  },
};
