/**
 * Copies a database's write-ahead log in a thread of its own: what it reads and writes would otherwise
 * take the time of the thread that commits. It commits nothing, so it may be ended at any moment.
 */
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { parentPort } from "node:worker_threads";

// Opened anew each time: the file may have been replaced, and is nobody's while nothing is copied.
parentPort?.on("message", (path: string) => {
  try {
    const file = pathToFileURL(path);
    // A file that was moved away must not be created anew: that would hide its loss.
    file.searchParams.set("mode", "rw");
    using database = new DatabaseSync(file, { timeout: 0 });
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } catch {
    // A copy that fails loses nothing: the log holds every commit, and the next transaction meets the cause.
  }
  parentPort?.postMessage("copied");
});
