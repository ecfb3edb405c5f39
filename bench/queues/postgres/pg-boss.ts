/** pg-boss at its defaults: one job at a time, fetched and completed by itself. */
import { drainByPgBoss } from "../../kit/drain-by-pg-boss.ts";

await drainByPgBoss({ batchSize: 1, loops: 1 });
