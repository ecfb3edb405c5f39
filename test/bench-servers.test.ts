import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { dataFolder } from "../bench/kit/data-folder.ts";
import { describeRacingReceiver, type RacePlace, type RacingReceiver } from "./support/racing-receiver.ts";

const receivers: readonly RacingReceiver[] = [
  {
    name: "hand-written",
    script: "servers/hand-written.ts",
    receiptIds: "SELECT id FROM receipts",
    owed: "SELECT count(*) FROM obligations",
  },
  {
    name: "counterfoil",
    script: "servers/counterfoil.ts",
    receiptIds: "SELECT event_id FROM counterfoil_receipts",
    owed: "SELECT count(*) FROM counterfoil_obligations",
  },
];

for (const receiver of receivers) describeRacingReceiver(receiver, makePlace);

async function makePlace(): Promise<RacePlace> {
  const folder = dataFolder();
  return {
    where: folder.path,
    column: async (sql) => {
      using database = new DatabaseSync(join(folder.path, "bench.db"));
      const rows = database.prepare(sql).all();
      return rows.map((row) => Object.values(row)[0]);
    },
    quiet: async () => undefined,
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
}
