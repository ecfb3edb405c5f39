import { afterAll, describe } from "vitest";
import { type PgBouncer, pgBouncer, startPgBouncer } from "../../../test/support/pgbouncer.ts";
import { postgresServer, postgresServers } from "../../../test/support/postgres.ts";
import { exerciseStore } from "../conformance/exercise-store.conformance.ts";
import { postgresBundle } from "./bundle.conformance.ts";

for (const { name, server } of postgresServers()) {
  exerciseStore(name, async () => postgresBundle({}, { server: await server() }));
}

describe.runIf(pgBouncer)("behind PgBouncer, in transaction mode and without a setting of ours", () => {
  let pooler: Promise<PgBouncer> | undefined;
  afterAll(async () => (await pooler)?.[Symbol.asyncDispose]());

  exerciseStore("the newest server", async () => {
    const server = await postgresServer();
    pooler ??= startPgBouncer(server.url("postgres"));
    const { url } = await pooler;
    return postgresBundle({}, { server, through: (address) => url(new URL(address).pathname.slice(1)) });
  });
});
