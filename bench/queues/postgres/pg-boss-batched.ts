/** pg-boss in batches of 100 jobs, two at once. */
import { drainByPgBoss } from "../../kit/drain-by-pg-boss.ts";

await drainByPgBoss({ batchSize: 100, loops: 2 });
