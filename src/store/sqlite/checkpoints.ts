import type { Turn } from "../turn.ts";
import type { Connection } from "./connection.ts";
import { sql } from "./statements.ts";

/** Commits between two looks at the log. */
const commitsPerLook = 16;

const measureLog = sql("log.measure", "PRAGMA wal_checkpoint(NOOP)");
const copyLog = sql("log.copy", "PRAGMA wal_checkpoint(PASSIVE)");

/**
 * Copies the write-ahead log into the database between transactions, so that no commit pays for it:
 * when it has grown to `logBytes` and nobody waits, or at four times that before anybody goes on.
 *
 * Few, large checkpoints write each page once where many small ones write it again and again; measured
 * here, that halves the time of a commit. A checkpoint waits for nobody: what a reader still needs is
 * left for the next one.
 */
export class Checkpoints {
  readonly #turn: Turn;
  #commits = 0;
  #asked = false;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Looks at the log now and then; call it after a commit, in its turn. */
  committed(connection: Connection): void {
    this.#commits += 1;
    if (this.#commits % commitsPerLook !== 0) return;
    const bytes = logPages(connection) * connection.pageBytes;
    if (bytes >= 4 * connection.logBytes) copy(connection);
    else if (bytes >= connection.logBytes && !this.#asked) {
      this.#asked = true;
      setImmediate(() => void this.#copyWhenIdle(connection));
    }
  }

  async #copyWhenIdle(connection: Connection): Promise<void> {
    this.#asked = false;
    if (this.#turn.taken) return;
    const release = await this.#turn.take(0);
    copy(connection);
    release();
  }
}

function copy(connection: Connection): void {
  try {
    if (connection.database.isOpen) connection.statements.own(copyLog).all();
  } catch {
    // A checkpoint that fails loses nothing: the log holds every commit, and the next transaction meets the cause.
  }
}

function logPages(connection: Connection): number {
  try {
    const row = connection.statements.own(measureLog).get() as { readonly log: number } | undefined;
    return Math.max(0, row?.log ?? 0);
  } catch {
    // The commit before this look stands, so its transaction must not fail now.
    return 0;
  }
}
