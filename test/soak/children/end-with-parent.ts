/** Preloaded into a served process: it lives no longer than the pipe to its standard input, whoever is killed. */
import { isMainThread } from "node:worker_threads";

if (isMainThread) process.stdin.once("close", () => process.kill(process.pid, "SIGKILL")).resume();
