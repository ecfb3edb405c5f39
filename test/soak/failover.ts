/**
 * The soak with a failover in the middle: a primary whose commits wait for a replica, an address that both
 * are reached by, the replica promoted under load and the old primary killed.
 */
import { startFaultProxy } from "counterfoil/testing";
import { startPostgresPair } from "../support/postgres-pair.ts";
import { ask } from "../support/postgres-query.ts";
import { connectionsEnded } from "./on-postgres.ts";
import { soak, type SoakOptions, type SoakReport } from "./soak.ts";

export type FailoverOptions = Omit<SoakOptions, "books" | "incidents" | "serverLog" | "midway">;

export async function failover(options: FailoverOptions): Promise<SoakReport> {
  await using stack = new AsyncDisposableStack();
  const settings = { log_line_prefix: "%e " };
  const { primary, replica, promote } = stack.use(await startPostgresPair({ fsync: false, settings }));
  const address = stack.use(await startFaultProxy({ targetPort: primary.port }));
  const url = primary.url().replace(`:${primary.port}/`, `:${address.port}/`);
  const moveAddress = (): void => {
    address.setTarget(replica.port);
    address.resetConnections();
  };
  // Whichever comes first: nothing that the old primary alone has is acknowledged, whoever still reaches it.
  const steps = [promote, async () => moveAddress(), () => primary.kill()];
  const order = options.seed % 2 === 0 ? steps : steps.toReversed();
  return await soak({
    ...options,
    books: { address: url, run: (text) => ask(url, text) },
    incidents: connectionsEnded(url),
    serverLog: () => `${primary.log()}\n${replica.log()}`,
    midway: async () => {
      options.onProgress?.(`failover: ${order === steps ? "promoted, then killed" : "killed, then promoted"}`);
      for (const step of order) await step();
    },
  });
}
