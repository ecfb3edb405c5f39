/** What can be wrong with a file that opens: where it is, what room it has, how long its log is. */
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { failure, type Finding, ok, warning } from "../../domain/finding.ts";
import { networkFileSystem } from "./file-system.ts";
import type { ReadHandle } from "./handle.ts";

/** What a disk has, as far as it matters here. */
export interface Room {
  readonly freeBytes: number;
  readonly fileSystem: number;
}

const mebibyte = 1024 ** 2;
/** Under this a burst can fill the disk; under the other one nothing that runs is safe. */
const freeBytesWanted = 1024 * mebibyte;
const freeBytesMin = 64 * mebibyte;
/** A log of this size is one that cannot start over. */
const logBytesMax = 256 * mebibyte;

/** Looks at a database file and its surroundings. */
export function inspectFile(
  { database }: Pick<ReadHandle, "database">,
  path: string,
  room: (folder: string) => Room = roomOf,
): Finding[] {
  const { version, mode } = database
    .prepare("SELECT sqlite_version() AS version, (SELECT journal_mode FROM pragma_journal_mode) AS mode")
    .get() as unknown as { readonly version: string; readonly mode: string };
  const engine = ok("database", `SQLite ${version}, journal ${mode}, schema up to date`);
  if (path === ":memory:") {
    const mend = 'name a file: sqlite("shop.db")';
    return [engine, warning("file", "everything is in memory and ends with the process", mend)];
  }
  const { freeBytes, fileSystem } = room(dirname(path));
  return [engine, place(path, fileSystem), disk(path, freeBytes), log(bytesOf(`${path}-wal`))];
}

function place(path: string, fileSystem: number): Finding {
  const network = networkFileSystem(fileSystem);
  if (network === undefined) return ok("file", `${path}, ${megabytes(bytesOf(path))}`);
  return warning(
    "file",
    `${path} is on a network file system (${network}), which was allowed; SQLite can lose data there`,
    "move it to a local disk, or use PostgreSQL",
  );
}

function disk(path: string, freeBytes: number): Finding {
  const says = `${megabytes(freeBytes)} free where ${path} is`;
  const mend = "make room, or let retention keep less (docs/defaults.md: bytesMs, requestsMs)";
  if (freeBytes < freeBytesMin) return failure("disk", says, mend);
  return freeBytes < freeBytesWanted ? warning("disk", says, mend) : ok("disk", says);
}

function log(bytes: number): Finding {
  const says = `the write-ahead log has ${megabytes(bytes)}`;
  if (bytes <= logBytesMax) return ok("log", says);
  return warning("log", says, "find the process that reads the file and never ends, and end it; then it starts over");
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function roomOf(folder: string): Room {
  const { bavail, bsize, type } = statfsSync(folder);
  return { freeBytes: bavail * bsize, fileSystem: process.platform === "linux" ? type : 0 };
}

function megabytes(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`;
}
