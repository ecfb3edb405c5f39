/** A primary and a replica that every commit waits for, as two servers of this machine, for tests of failover. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../src/testing/eventually.ts";
import { freePort } from "./free-port.ts";
import { guardedFolder, postmasterPidFile } from "./guarded-folder.ts";
import { PostgresProcess, startPostgres, type StartPostgresOptions } from "./postgres-process.ts";
import { ask } from "./postgres-query.ts";
import { unprivileged } from "./unprivileged.ts";

export interface PostgresPair extends AsyncDisposable {
  readonly primary: PostgresProcess;
  readonly replica: PostgresProcess;
  /** Makes the replica a primary that waits for nobody; resolves once it takes writes. The old one is not ended by it. */
  readonly promote: () => Promise<void>;
}

/** Starts both, with the same options, and resolves once commits wait for the replica. */
export async function startPostgresPair(options: StartPostgresOptions = {}): Promise<PostgresPair> {
  await using stack = new AsyncDisposableStack();
  const primary = stack.use(await startPostgres(options));
  const replica = stack.use(await startReplica(primary));
  await ask(primary.url(), "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (replica)'");
  await ask(primary.url(), "SELECT pg_reload_conf()");
  await eventually(
    async () => (await ask(primary.url(), "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).length === 1,
    { withinMs: 60_000, what: "a replica that commits wait for" },
  );
  const owned = stack.move();
  return {
    primary,
    replica,
    promote: async () => void (await ask(replica.url(), "SELECT pg_promote(wait => true, wait_seconds => 60)")),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** From a copy of the stopped primary's files, since the embedded server comes without pg_basebackup. */
async function startReplica(primary: PostgresProcess): Promise<PostgresProcess> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(guardedFolder(postmasterPidFile));
  const { password, settings } = primary.options;
  const conninfo = `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=replica`;
  const replica = new PostgresProcess({
    ...primary.options,
    folder,
    port: await freePort(),
    settings: { ...settings, primary_conninfo: conninfo },
  });
  await primary.stop();
  execFileSync("cp", ["-R", "-p", primary.data, replica.data], unprivileged());
  writeFileSync(join(replica.data, "standby.signal"), "");
  await primary.start();
  await replica.start();
  stack.move();
  return replica;
}
