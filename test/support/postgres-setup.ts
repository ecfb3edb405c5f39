/**
 * Vitest's global setup: owns the servers that all test files share. A server starts when the first
 * test asks for it, and ends with the run; the tests ask over loopback, since each file is a process.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { installedPostgres } from "./postgres-binaries.ts";
import { type PostgresProcess, startPostgres } from "./postgres-process.ts";
import { sharedServersVariable } from "./postgres.ts";

export default async function setup(): Promise<() => Promise<void>> {
  const started = new Map<number, Promise<PostgresProcess>>();
  const start = (major: number): Promise<PostgresProcess> => {
    const binaries = installedPostgres().find((each) => each.major === major);
    if (binaries === undefined) throw new Error(`there is no PostgreSQL ${major} here`);
    // Fast enough for the gate; a test of durability starts a server of its own.
    const server = startPostgres({ binaries, fsync: false });
    started.set(major, server);
    return server;
  };
  const answer = async (path: string): Promise<string> => {
    const major = Number(path.slice(1));
    return (await (started.get(major) ?? start(major))).url("");
  };
  const servers = createServer((request, response) => {
    answer(request.url ?? "").then(
      (url) => response.end(url),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, "127.0.0.1");
  await once(servers, "listening");
  process.env[sharedServersVariable] = `http://127.0.0.1:${(servers.address() as AddressInfo).port}`;
  return async () => {
    servers.close();
    for (const server of await Promise.allSettled(started.values())) {
      if (server.status === "fulfilled") await server.value[Symbol.asyncDispose]();
    }
  };
}
