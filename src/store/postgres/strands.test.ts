/** Bodies beside each other in one transaction: what each sees of the others, and what costs them the transaction. */
import { expect, onTestFinished, test } from "vitest";
import { createNotes, note, notesOf } from "../conformance/transactions.conformance.ts";
import type { Store, StoreTx, Strand } from "../store.ts";
import { postgresBundle } from "./bundle.conformance.ts";

const waitMs = 5_000;

/** A store that has kept enough to go without savepoints. */
async function hopeful(): Promise<Store> {
  const { store, dispose } = await postgresBundle();
  onTestFinished(dispose);
  await createNotes(store);
  for (let n = 0; n < 64; n += 1) await store.transaction(async () => undefined, { waitMs, hopeful: true });
  return store;
}

function strandOf(tx: StoreTx): Strand {
  const strand = tx.strand();
  if (!strand) throw new Error("the transaction has no strands");
  return strand;
}

const slowly = (tx: StoreTx): Promise<unknown> => tx.run("SELECT pg_sleep(0.2)", []);
const count = async (tx: StoreTx): Promise<number> => {
  const [row] = await tx.run("SELECT count(*)::int AS count FROM notes", []);
  return Number(row?.["count"]);
};

test("a later strand begins while an earlier one waits for its answer, and sees all that it has done", async () => {
  const store = await hopeful();
  const ended: string[] = [];
  const seen = await store.transaction(
    async (tx) => {
      const first = strandOf(tx);
      const running = first.run(async (own) => {
        await own.attempt(async () => {
          await slowly(own);
          await note(own, 1);
        });
        ended.push("first");
      });
      await first.until(2);
      const second = strandOf(tx);
      const counting = second.run(async (own) => own.attempt(() => count(own)));
      await second.until(1);
      expect({ ended, sent: [first.sent, second.sent] }).toEqual({ ended: [], sent: [2, 1] });
      await running;
      return counting;
    },
    { waitMs, hopeful: true },
  );
  expect(seen).toBe(1);
  expect(await notesOf(store)).toEqual(["note 1"]);
});

test.each([
  ["lets its error out", false],
  ["hides its error", true],
])(
  "a strand that sends something after a later one costs the transaction, also where the body %s",
  async (_, hides) => {
    const store = await hopeful();
    const laterSent = Promise.withResolvers<void>();
    const body = async (tx: StoreTx): Promise<void> => {
      const first = strandOf(tx);
      const running = first.run(async (own) => {
        await own.attempt(async () => {
          await note(own, 1);
          await laterSent.promise;
          await note(own, 2);
        });
      });
      await first.until(1);
      await strandOf(tx).run((own) => own.attempt(() => note(own, 3)));
      laterSent.resolve();
      await (hides ? running.catch(() => undefined) : running);
    };
    await expect(store.transaction(body, { waitMs, hopeful: true })).rejects.toMatchObject({ code: "RACE_LOST" });
    expect(await notesOf(store)).toEqual([]);
  },
);

test("a strand that fails costs the transaction, and those behind it tell the same", async () => {
  const store = await hopeful();
  const body = async (tx: StoreTx): Promise<void> => {
    const first = strandOf(tx);
    const failing = first.run((own) =>
      own.attempt(async () => {
        await slowly(own);
        await own.run("SELECT 1 / 0", []);
      }),
    );
    await first.until(2);
    const behind = strandOf(tx).run((own) => own.attempt(() => note(own, 1)));
    const [one, other] = await Promise.allSettled([failing, behind]);
    expect([one, other]).toMatchObject([{ reason: { code: "RACE_LOST" } }, { reason: { code: "RACE_LOST" } }]);
  };
  await expect(store.transaction(body, { waitMs, hopeful: true })).rejects.toMatchObject({ code: "RACE_LOST" });
  expect(await notesOf(store)).toEqual([]);
  // Without hope each attempt is undone by itself, so there are no strands.
  await store.transaction(async (tx) => expect(tx.strand()).toBeUndefined(), { waitMs, hopeful: true });
});

test("an attempt inside a strand is undone by itself", async () => {
  const store = await hopeful();
  await store.transaction(
    (tx) =>
      strandOf(tx).run((own) =>
        own.attempt(async () => {
          await note(own, 1);
          const inner = own.attempt(() => note(own, 1));
          await expect(inner).rejects.toMatchObject({ code: "23505" });
          await note(own, 2);
        }),
      ),
    { waitMs, hopeful: true },
  );
  expect(await notesOf(store)).toEqual(["note 1", "note 2"]);
});

test("what a strand leaves behind is refused", async () => {
  const store = await hopeful();
  let left: StoreTx | undefined;
  await store.transaction(
    async (tx) => {
      await strandOf(tx).run(async (own) => {
        left = own;
        await own.attempt(() => note(own, 1));
      });
      await expect(left?.run("SELECT 1", [])).rejects.toMatchObject({ code: "TRANSACTION_CLOSED" });
      await tx.attempt(() => note(tx, 2));
    },
    { waitMs, hopeful: true },
  );
  expect(await notesOf(store)).toEqual(["note 1", "note 2"]);
});

test("a strand whose time is over does not hold up those behind it for longer", async () => {
  const store = await hopeful();
  const body = async (tx: StoreTx): Promise<void> => {
    const first = strandOf(tx);
    const endless = first.run((own) =>
      own.attempt(
        async () => {
          await note(own, 1);
          await new Promise(() => undefined);
        },
        { withinMs: 100 },
      ),
    );
    await first.until(1);
    const behind = strandOf(tx).run((own) => own.attempt(() => note(own, 2)));
    await Promise.allSettled([endless, behind]);
  };
  await expect(store.transaction(body, { waitMs, hopeful: true })).rejects.toMatchObject({ code: "RACE_LOST" });
});
