import { Client } from "pg";
import { type PostgresProcess, startPostgres } from "../support/postgres-process.ts";
import { ask, terminateBackends } from "../support/postgres-query.ts";
import { serverAt } from "../support/postgres.ts";
import type { ChaosOptions } from "./chaos.ts";
import type { SoakOptions } from "./soak.ts";

/** A server of the soak's own, whose connections its incidents end, and whose log is read in the end. */
export async function onPostgres(
  stack: AsyncDisposableStack,
): Promise<Required<Pick<SoakOptions, "books" | "incidents" | "serverLog">>> {
  // Each line of its log begins with the SQLSTATE.
  const server = stack.use(await startPostgres({ fsync: false, settings: { log_line_prefix: "%e " } }));
  const { url } = stack.use(await (await serverAt(server.url(""))).createDatabase());
  return {
    books: { address: url, run: (text) => ask(url, text) },
    incidents: incidentsOf(server, url),
    serverLog: () => server.log(),
  };
}

type Incidents = ChaosOptions["ofDatabase"];

/** Connections are ended as often as anything; the server itself is gone for a moment now and then. */
function incidentsOf(server: PostgresProcess, url: string): Incidents {
  const restarted = async (): Promise<void> => {
    await server.kill();
    await server.start();
  };
  const paused = async (): Promise<void> => {
    server.pause();
    await connectingHasTimedOut(url);
    server.resume();
  };
  return [
    ...connectionsEnded(url),
    ["server restarted", () => server.restart()],
    ["server killed", restarted],
    ["server hung", paused],
  ];
}

/** Longer than a statement or a connection of an app may take. */
async function connectingHasTimedOut(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 6_000 });
  await client.connect().then(
    () => client.end(),
    () => undefined,
  );
}

/** About a third of them, wherever they are. */
export function connectionsEnded(url: string): Incidents {
  return Array.from(
    { length: 2 },
    () => ["connections ended", () => terminateBackends(url, "random() < 0.3")] as const,
  );
}
