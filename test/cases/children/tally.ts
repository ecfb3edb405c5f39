/** A process that reads and then writes, in transactions of the application's own, as fast as it can. */
import { answerParent } from "../../../src/testing/child.ts";
import { orderApp } from "../../support/order-app.ts";

const app = orderApp(process.argv[2] ?? "", { limits: { lockMs: 30_000 } });
await app.open();

/** Reads the last number and inserts the next one; two that read the same would collide. */
async function count(writer: string): Promise<void> {
  await app.transaction({ tenant: "tenant-a" }, async ({ tx }) => {
    const [last] = await tx.sql<{ n: number }>`SELECT coalesce(max(n), 0) AS n FROM tally`;
    await tx.sql`INSERT INTO tally VALUES (${(last?.n ?? 0) + 1}, ${writer})`;
  });
}

answerParent({
  /** Counts with eight writers at once; gives the errors that came out. */
  count: async (times) => {
    const errors: string[] = [];
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; n < Number(times); n += 1) {
        await count(`${process.pid}-${writer}`).catch((error: unknown) => errors.push(String(error)));
      }
    });
    await Promise.all(writers);
    await app.stop();
    return errors;
  },
});
