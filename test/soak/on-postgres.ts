import { startPostgres } from "../support/postgres-process.ts";
import { ask, terminateBackends } from "../support/postgres-query.ts";
import { serverAt } from "../support/postgres.ts";
import type { SoakOptions } from "./soak.ts";

/** A server of the soak's own, whose connections its incidents end, and whose log is read in the end. */
export async function onPostgres(
  stack: AsyncDisposableStack,
): Promise<Required<Pick<SoakOptions, "books" | "endConnections" | "serverLog">>> {
  // Each line of its log begins with the SQLSTATE.
  const server = stack.use(await startPostgres({ fsync: false, settings: { log_line_prefix: "%e " } }));
  const { url } = stack.use(await (await serverAt(server.url(""))).createDatabase());
  return {
    books: { address: url, run: (text) => ask(url, text) },
    endConnections: () => terminateBackends(url, "random() < 0.3"),
    serverLog: () => server.log(),
  };
}
