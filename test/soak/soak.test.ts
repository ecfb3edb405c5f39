import { expect, test } from "vitest";
import { engine, temporaryDatabase } from "../support/engine.ts";
import { onPostgres } from "./on-postgres.ts";
import { soak } from "./soak.ts";

const seed = Number(process.env["COUNTERFOIL_SOAK_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

async function onSqlite(stack: AsyncDisposableStack) {
  const database = stack.use(await temporaryDatabase({ inMemory: true }));
  return { books: database, serverLog: () => "" };
}

test(
  "whatever is killed meanwhile, receipts, state and effects end as the reference says",
  { timeout: 600_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const where = engine === "postgres" ? await onPostgres(stack) : await onSqlite(stack);
    const size =
      engine === "postgres"
        ? { receivers: 2, workers: 2, deliveries: 3_000 }
        : { receivers: 2, workers: 1, deliveries: 500 };
    console.log(`soak: seed ${seed}`);
    const { problems, states, ...figures } = await soak({ ...where, ...size, seed, calm: 250 });
    console.log("soak:", figures, states);
    expect(problems, `seed ${seed}`).toEqual([]);
  },
);
