/** What can be wrong with a server that answers: settings that give commits away, and connections that run out. */
import { failure, type Finding, ok, warning } from "../../domain/finding.ts";
import type { ReadHandle } from "./handle.ts";
import { sql } from "./statements.ts";

const selectSettings = sql(
  "server.inspect",
  `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
     current_setting('full_page_writes') AS "fullPageWrites", current_setting('data_checksums') AS checksums,
     current_setting('max_connections')::int AS "connectionsMax", pg_is_in_recovery() AS recovering,
     (SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database) AS connections,
     pg_database_size(current_database())::float8 AS bytes`,
);

/** The settings that matter here. */
export interface ServerSettings {
  readonly version: string;
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly checksums: string;
  readonly connectionsMax: number;
  readonly connections: number;
  readonly recovering: boolean;
  readonly bytes: number;
}

/** Looks at the server. */
export async function inspectServer({ run }: Pick<ReadHandle, "run">): Promise<Finding[]> {
  const [settings] = await run<ServerSettings>(selectSettings, []);
  return settings ? findingsOf(settings) : [];
}

/** @internal Exported for tests. */
export function findingsOf(settings: ServerSettings): Finding[] {
  const { version, fsync, fullPageWrites, checksums, connectionsMax, connections, recovering, bytes } = settings;
  const used = `${connections} of ${connectionsMax} connections are in use`;
  return [
    recovering
      ? failure("database", "the server is a replica, which takes no writes", "give the address of the primary")
      : ok("database", `PostgreSQL ${version}, ${(bytes / 1024 ** 2).toFixed(1)} MiB, schema up to date`),
    fsync === "on" && fullPageWrites === "on"
      ? ok("durability", "what is committed is on the disk (fsync and full_page_writes are on)")
      : failure(
          "durability",
          `fsync is ${fsync} and full_page_writes is ${fullPageWrites}: a power cut loses what was acknowledged`,
          "set both to on in postgresql.conf",
        ),
    checksums === "on"
      ? ok("checksums", "damage on the disk is found")
      : warning(
          "checksums",
          "damage on the disk is not found (data_checksums)",
          "stop the server; pg_checksums --enable",
        ),
    connections < 0.9 * connectionsMax
      ? ok("connections", used)
      : warning(
          "connections",
          used,
          "put PgBouncer in front, lower connectionsMax of postgres(), or raise max_connections",
        ),
  ];
}
