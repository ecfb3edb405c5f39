import { eventually } from "../../src/testing/eventually.ts";
import { ask } from "../support/postgres-query.ts";
import { postgresServer } from "../support/postgres.ts";
import { describeRacingReceiver, type RacePlace, type RacingReceiver } from "../support/racing-receiver.ts";

const byHand = { receiptIds: "SELECT id FROM receipts", owed: "SELECT count(*) FROM obligations" };
const receivers: readonly RacingReceiver[] = [
  { name: "hand-written", script: "servers/postgres/hand-written.ts", ...byHand },
  { name: "one-statement", script: "servers/postgres/one-statement.ts", ...byHand },
  {
    name: "counterfoil",
    script: "servers/counterfoil.ts",
    receiptIds: "SELECT event_id FROM counterfoil.receipts",
    owed: "SELECT count(*) FROM counterfoil.obligations",
  },
];

for (const receiver of receivers) describeRacingReceiver(receiver, makePlace);

async function makePlace(): Promise<RacePlace> {
  const { createDatabase } = await postgresServer();
  const database = await createDatabase();
  const others = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type = 'client backend'`;
  return {
    where: database.url,
    column: async (sql) => {
      const rows = await ask(database.url, sql);
      return rows.map((row) => Object.values(row)[0]);
    },
    quiet: async () => {
      const isAlone = async (): Promise<boolean> => (await ask(database.url, others)).length === 0;
      await eventually(isAlone, { what: "the end of the receiver's backends" });
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
