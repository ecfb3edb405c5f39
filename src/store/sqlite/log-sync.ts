/**
 * Makes commits durable beside the thread that commits.
 *
 * With `synchronous = NORMAL` COMMIT writes the log and syncs nothing; here the log's file is synced
 * before a transaction is said to be committed. That keeps what FULL keeps, and two things are gained:
 * the next transaction runs while the disk works, and transactions that end meanwhile share one sync.
 * A commit stands in the log behind those before it, so that no later one survives without it.
 *
 * SQLite still syncs what is its own: the header of a log that starts over, and both files at a checkpoint.
 */
import { closeSync, fdatasync, openSync } from "node:fs";
import { CounterfoilError } from "../../domain/errors.ts";
import type { Probe } from "../../domain/probe.ts";

export class LogSync {
  readonly #path: string;
  readonly #probe: Probe | undefined;
  #file: number | undefined;
  #running: Promise<void> | undefined;
  /** Begins when the one that runs has ended. */
  #next: Promise<void> | undefined;
  #failed = false;

  /** The log of the database at this path. */
  constructor(path: string, probe?: Probe) {
    this.#path = `${path}-wal`;
    this.#probe = probe;
  }

  /** A sync failed: what the system could not write it may now take for written, so that no later sync can be trusted. */
  get failed(): boolean {
    return this.#failed;
  }

  /**
   * Resolves once everything that was committed before the call is on the disk. A sync under way may have
   * begun before that; whoever comes meanwhile shares the next.
   *
   * @throws CounterfoilError COMMIT_UNKNOWN when the disk does not take it, then and from then on.
   */
  flush(): Promise<void> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running.then(() => this.#begin());
    return this.#next;
  }

  /** Lets go of the file, once nobody waits for it. */
  async close(): Promise<void> {
    await (this.#next ?? this.#running)?.catch(() => undefined);
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #begin(): Promise<void> {
    this.#next = undefined;
    const sync = this.#sync();
    this.#running = sync;
    // One that failed stays, so that all who come later fail as well.
    sync.then(
      () => {
        if (this.#running === sync) this.#running = undefined;
      },
      () => undefined,
    );
    return sync;
  }

  async #sync(): Promise<void> {
    try {
      this.#probe?.("sqlite.log.sync:before");
      await this.#syncFile();
      this.#probe?.("sqlite.log.sync:after");
    } catch (cause) {
      this.#failed = true;
      const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no code";
      const message = `Cannot commit: the log cannot be synced (${code}); the commit may be kept or not; deliver again, the receipt decides`;
      throw new CounterfoilError("COMMIT_UNKNOWN", message, { cause });
    }
  }

  #syncFile(): Promise<void> {
    // Not before the first commit, which makes the file. Some systems sync only what may be written.
    const file = (this.#file ??= openSync(this.#path, "r+"));
    return new Promise((resolve, reject) => {
      fdatasync(file, (error) => (error === null ? resolve() : reject(error)));
    });
  }
}
