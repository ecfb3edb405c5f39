import { CounterfoilError } from "../../domain/errors.ts";
import type { ReadHandle } from "./handle.ts";
import { sql } from "./statements.ts";

/** Oldest version that is maintained, and that the tests know. */
const versionMin = 14;

const selectServer = sql(
  "server.check",
  `SELECT current_setting('server_version_num')::int AS version, current_setting('server_encoding') AS encoding`,
);

/** @throws CounterfoilError STORE_UNSUPPORTED where the server or the database cannot hold what is stored. */
export async function checkServer({ run }: Pick<ReadHandle, "run">): Promise<void> {
  const [server] = await run<{ version: number; encoding: string }>(selectServer, []);
  const major = Math.floor((server?.version ?? 0) / 10_000);
  if (major < versionMin) throw unsupported(`version ${major}`, `version ${versionMin} or newer`);
  if (server?.encoding !== "UTF8") throw unsupported(`encoding ${server?.encoding}`, "a database in UTF8");
}

function unsupported(found: string, needed: string): CounterfoilError {
  return new CounterfoilError("STORE_UNSUPPORTED", `Cannot use this PostgreSQL: it has ${found}; use ${needed}`);
}
