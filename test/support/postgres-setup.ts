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

const started = new Map<number, Promise<PostgresProcess>>();

const desk = createServer((request, response) => {
  const major = Number(request.url?.slice(1));
  (started.get(major) ?? start(major)).then(
    (server) => response.end(server.url("")),
    (error: unknown) => response.writeHead(500).end(String(error)),
  );
});

export async function setup(): Promise<void> {
  desk.listen(0, "127.0.0.1");
  await once(desk, "listening");
  process.env[sharedServersVariable] = `http://127.0.0.1:${(desk.address() as AddressInfo).port}`;
}

export async function teardown(): Promise<void> {
  desk.close();
  for (const server of await Promise.allSettled(started.values())) {
    if (server.status === "fulfilled") await server.value[Symbol.asyncDispose]();
  }
}

/** Without fsync, to be fast enough for the gate: a test of durability starts a server of its own. */
function start(major: number): Promise<PostgresProcess> {
  const binaries = installedPostgres().find((each) => each.major === major);
  if (binaries === undefined) return Promise.reject(new Error("this machine does not have that version"));
  const server = startPostgres({ binaries, fsync: false });
  started.set(major, server);
  return server;
}
