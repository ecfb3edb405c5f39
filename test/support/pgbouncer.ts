/** PgBouncer in transaction mode in front of a server: each transaction may run on another connection. */
import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../src/testing/eventually.ts";
import { freePort } from "./free-port.ts";
import { guardedFolder } from "./guarded-folder.ts";
import { ask } from "./postgres-query.ts";
import { unprivileged } from "./unprivileged.ts";

/** Where Debian and Homebrew put it; undefined where it is not installed. */
export const pgBouncer: string | undefined = [
  "/usr/sbin/pgbouncer",
  "/usr/bin/pgbouncer",
  "/opt/homebrew/bin/pgbouncer",
].find((path) => existsSync(path));

export interface PgBouncer extends AsyncDisposable {
  readonly url: (database: string) => string;
}

/** Starts it in front of the server with this address, with its own defaults but for the mode. */
export async function startPgBouncer(server: string): Promise<PgBouncer> {
  if (pgBouncer === undefined) throw new Error("Cannot start PgBouncer: apt-get install pgbouncer");
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(guardedFolder("pgbouncer.pid"));
  const { hostname, port: serverPort, username, password } = new URL(server);
  const port = await freePort();
  const file = join(folder.path, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${serverPort} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
pidfile = ${join(folder.path, "pgbouncer.pid")}
`,
  );
  const child = spawn(pgBouncer, ["--quiet", file], { ...unprivileged(), stdio: "ignore", detached: true });
  const url = (database: string): string => `postgres://${username}@127.0.0.1:${port}/${database}`;
  await eventually(async () => child.exitCode !== null || (await ask(url("postgres"), "SELECT 1")).length === 1, {
    what: "PgBouncer's readiness",
  });
  if (child.exitCode !== null) throw new Error(`Cannot start PgBouncer: it ended with code ${child.exitCode}`);
  const owned = stack.move();
  return { url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
