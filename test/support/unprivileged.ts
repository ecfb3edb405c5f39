import { execFileSync } from "node:child_process";

/** Whom a server runs as; nothing to change unless this process is root. */
export interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

let known: Identity | undefined;

/** PostgreSQL and PgBouncer refuse root: the user `postgres` where there is one, `nobody` elsewhere. */
export function unprivileged(): Identity {
  known ??= process.getuid?.() === 0 ? (identity("postgres") ?? identity("nobody") ?? {}) : {};
  return known;
}

function identity(user: string): Identity | undefined {
  const id = (flag: string): number =>
    Number(execFileSync("id", [flag, user], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  try {
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return undefined;
  }
}
