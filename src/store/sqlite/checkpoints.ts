import type { Turn } from "../turn.ts";
import type { Connection } from "./connection.ts";
import type { LogCopier } from "./log-copier.ts";
import { sql } from "./statements.ts";

/** Commits between two looks at the log. */
const commitsPerLook = 16;
/** Passes beside the commits before the rest of the log is copied between two of them. */
const passesMax = 4;

const measureLog = sql("log.measure", "PRAGMA wal_checkpoint(NOOP)");
const copyLog = sql("log.copy", "PRAGMA wal_checkpoint(PASSIVE)");

/**
 * Copies the write-ahead log into the database beside the commits, so that none of them pays for it.
 *
 * When the log has grown to `logBytes`, another thread copies what is there, and then what was added
 * meanwhile, until that is little: it is copied between two transactions, after which the log starts over. At
 * four times that size the log is copied before anybody goes on, so that it stays bounded in every case.
 *
 * Few, large checkpoints write each page once where many small ones write it again and again; measured
 * here, that halves the time of a commit. A checkpoint waits for nobody: what a reader still needs is
 * left for the next one.
 */
export class Checkpoints {
  readonly #turn: Turn;
  readonly #copier: LogCopier;
  #commits = 0;

  constructor(turn: Turn, copier: LogCopier) {
    this.#turn = turn;
    this.#copier = copier;
  }

  /** Looks at the log now and then; call it after a commit, in its turn. */
  committed(connection: Connection): void {
    this.#commits += 1;
    if (this.#commits % commitsPerLook !== 0) return;
    const bytes = logPages(connection).all * connection.pageBytes;
    if (bytes >= 4 * connection.logBytes) copy(connection);
    else if (bytes >= connection.logBytes && !this.#copier.isCopying) void this.#copyBeside(connection);
  }

  /** Ends what copies beside. */
  async stop(): Promise<void> {
    await this.#copier.stop();
  }

  async #copyBeside(connection: Connection): Promise<void> {
    let left = Number.POSITIVE_INFINITY;
    for (let pass = 1; pass <= passesMax; pass += 1) {
      if (!(await this.#copier.copy())) break;
      const before = left;
      left = logPages(connection).left;
      // Each pass is shorter than the one before, and so is what it leaves; a reader may keep it from ending.
      if (left > before / 2 || left * connection.pageBytes < connection.logBytes / 32) break;
    }
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

/** Pages in the log, and how many of them are not yet in the database. */
function logPages(connection: Connection): { readonly all: number; readonly left: number } {
  try {
    const row = connection.statements.own(measureLog).get() as { readonly log: number; readonly checkpointed: number };
    return { all: Math.max(0, row.log), left: Math.max(0, row.log - row.checkpointed) };
  } catch {
    // The commit before this look stands, so its transaction must not fail now.
    return { all: 0, left: 0 };
  }
}
