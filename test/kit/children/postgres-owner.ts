/** A process that starts a PostgreSQL server and is killed. */
import { answerParent } from "../../../src/testing/child.ts";
import { type PostgresProcess, startPostgres } from "../../support/postgres-process.ts";

let server: PostgresProcess | undefined;

answerParent({
  start: async () => {
    server = await startPostgres({ fsync: false });
    return { folder: server.options.folder.path, pid: server.pid ?? 0 };
  },
  pause: () => server?.pause(),
});
