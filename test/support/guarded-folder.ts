/**
 * A temporary folder for a server of the tests, and a guard that outlives this process.
 *
 * The guard is a shell in a session of its own that waits on a pipe. When the pipe closes, because the
 * folder is disposed of or because this process is gone, killed or not, the guard ends the process
 * whose id the folder's pid file names, and removes the folder. So there is one way to the end, and
 * every run takes it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unprivileged } from "./unprivileged.ts";

/** Stopped processes hear no signal but SIGCONT and SIGKILL, so all of the family are let go on first. */
const guard = `
cat >/dev/null
cd "$1" || exit
if read -r pid _ <"$2" && kill -0 "$pid"; then
  family="$pid $(ps -A -o pid= -o ppid= | awk -v parent="$pid" '$2 == parent { print $1 }')"
  kill -CONT $family
  kill -QUIT "$pid"
  tries=0
  while kill -0 "$pid" && [ "$tries" -lt 200 ]; do tries=$((tries + 1)); sleep 0.05; done
  kill -KILL $family
fi
cd / && rm -rf "$1"
`;

/** Of a server whose data folder is `data`. */
export const postmasterPidFile = "data/postmaster.pid";

export interface GuardedFolder extends AsyncDisposable {
  readonly path: string;
}

/** Makes a folder that the unprivileged user owns. The pid file is named relative to it. */
export function guardedFolder(pidFile: string, { parent = tmpdir() } = {}): GuardedFolder {
  const path = mkdtempSync(join(parent, "counterfoil-server-"));
  const { uid, gid } = unprivileged();
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
  const shell = spawn("sh", ["-c", guard, "guard", path, pidFile], {
    ...unprivileged(),
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const ended = once(shell, "exit");
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      shell.stdin.end();
      await ended;
    },
  };
}
