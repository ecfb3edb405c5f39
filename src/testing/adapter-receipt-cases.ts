import { deepEqual, equal, ok } from "node:assert/strict";
import { hasCode } from "../domain/errors.ts";
import { type AdapterBench, type AdapterCase, failure, parcel, Undo } from "./adapter-bench.ts";
import { eventually } from "./eventually.ts";

/** Receipts inside the user's transaction. */
export const receiptCases: Readonly<Record<string, AdapterCase>> = {
  "a receipt and what its handler did are kept with the commit; the event is a duplicate then": async (bench) => {
    owing(bench);
    const receive = (): Promise<unknown> =>
      bench.subject.transact(async (transaction) => {
        await bench.note(transaction, crypto.randomUUID());
        return bench.app.within(transaction).receive("exercise-a", bench.delivery("first"));
      });
    const first = { eventId: `${bench.id}-first`, outcome: "applied", reason: null, duplicate: false, mismatch: false };
    deepEqual([await receive(), await receive()], [first, { ...first, duplicate: true }]);
    deepEqual([await bench.owed(), (await bench.notes()).length], [["parcel"], 2]);
    const again = await bench.app.receive("exercise-a", bench.delivery("first"));
    equal(again.duplicate, true);
  },

  "a receipt that was rolled back is forgotten: the next delivery is fresh": async (bench) => {
    owing(bench);
    const undone = bench.subject.transact(async (transaction) => {
      await bench.app.within(transaction).receive("exercise-a", bench.delivery("first"));
      throw new Undo();
    });
    await failure(undone);
    deepEqual([await bench.owed(), await bench.outcome("first")], [[], undefined]);
    const again = await bench.app.receive("exercise-a", bench.delivery("first"));
    equal(again.duplicate, false);
  },

  "what a handler decides is kept, with nothing of what it did": async (bench) => {
    bench.handle = async ({ tx, refuse }) => {
      await tx.sql`INSERT INTO counterfoil_exercise (id) VALUES (${`${bench.id}-refused`})`;
      refuse("not today");
    };
    const received = await bench.subject.transact((transaction) =>
      bench.app.within(transaction).receive("exercise-a", bench.delivery("first")),
    );
    deepEqual([received.outcome, received.reason], ["refused", "not today"]);
    deepEqual([await bench.outcome("first"), await bench.notes()], ["refused", []]);
  },

  "a handler that fails leaves nothing, and the transaction goes on": async (bench) => {
    bench.handle = async ({ owe }) => {
      await owe(parcel, { key: [bench.id, "parcel"], input: { to: "a" } });
      throw new Error("no");
    };
    await bench.subject.transact(async (transaction) => {
      const received = bench.app.within(transaction).receive("exercise-a", bench.delivery("first"));
      ok(hasCode(await failure(received), "HANDLER_FAILED"));
      await bench.note(transaction, "after");
    });
    deepEqual([await bench.owed(), await bench.outcome("first"), await bench.notes()], [[], undefined, ["after"]]);
  },

  "a forged delivery is refused, and the transaction goes on": async (bench) => {
    await bench.subject.transact(async (transaction) => {
      const { headers } = bench.delivery("first");
      const forged = bench.app.within(transaction).receive("exercise-a", { headers, body: "{}" });
      ok(hasCode(await failure(forged), "SIGNATURE_REFUSED"));
      await bench.note(transaction, "after");
    });
    deepEqual([await bench.outcome("first"), await bench.notes()], [undefined, ["after"]]);
  },

  "connections do not suppress each other": async (bench) => {
    const received = await bench.subject.transact(async (transaction) => {
      const { receive } = bench.app.within(transaction);
      return [
        await receive("exercise-a", bench.delivery("same")),
        await receive("exercise-g", bench.delivery("same", "exercise-g")),
      ];
    });
    deepEqual(
      received.map(({ duplicate }) => duplicate),
      [false, false],
    );
  },

  "of two copies at once, the second waits for the first one's commit and is a duplicate": async (bench) => {
    if (!bench.app.runtime.store.capabilities.concurrentWriters) return;
    deepEqual(await twoAtOnce(bench, "commit"), [false, true]);
    deepEqual(await bench.owed(), ["parcel"]);
  },

  "of two copies at once, the second is fresh where the first is rolled back": async (bench) => {
    if (!bench.app.runtime.store.capabilities.concurrentWriters) return;
    deepEqual(await twoAtOnce(bench, "rollback"), [false, false]);
    deepEqual(await bench.owed(), ["parcel"]);
  },
};

function owing(bench: AdapterBench): void {
  bench.handle = async ({ owe }) => owe(parcel, { key: [bench.id, "parcel"], input: { to: "a" } });
}

/** Whether each of two copies was a duplicate; the first ends once the second waits for it. */
async function twoAtOnce(bench: AdapterBench, end: "commit" | "rollback"): Promise<readonly boolean[]> {
  owing(bench);
  const received = Promise.withResolvers<boolean>();
  const ending = Promise.withResolvers<void>();
  const receive = () => bench.delivery("first");
  const first = bench.subject.transact(async (transaction) => {
    const { duplicate } = await bench.app.within(transaction).receive("exercise-a", receive());
    received.resolve(duplicate);
    await ending.promise;
    if (end === "rollback") throw new Undo();
  });
  first.catch(received.reject);
  const firstDuplicate = await received.promise;
  const second = bench.subject.transact((transaction) =>
    bench.app.within(transaction).receive("exercise-a", receive()),
  );
  const waits = eventually(() =>
    bench.app.transaction({ tenant: "acme" }, async ({ tx }) => {
      const [found] = await tx.sql`SELECT count(*) AS count FROM pg_locks AS l JOIN pg_stat_activity USING (pid)
        WHERE datname = current_database() AND NOT l.granted`;
      return found?.["count"];
    }),
  );
  await Promise.race([waits, second]);
  ending.resolve();
  await (end === "commit" ? first : failure(first));
  return [firstDuplicate, (await second).duplicate];
}
