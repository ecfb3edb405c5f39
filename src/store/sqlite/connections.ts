import { statSync } from "node:fs";
import { resolve } from "node:path";
import { CounterfoilError } from "../../domain/errors.ts";
import { connectReader, connectWriter, emptyLog, type Connection, type ConnectOptions } from "./connection.ts";
import { needsReopen } from "./errors.ts";
import { assertLocalFile } from "./file-system.ts";
import { untilFree } from "./until-free.ts";

export interface FileOptions extends ConnectOptions {
  /** The file, or `:memory:`. */
  readonly path: string;
  readonly allowNetworkFileSystem: boolean;
  /** For tests: what the folder's file system says it is. */
  readonly fileSystemType?: ((folder: string) => number) | undefined;
}

/** A connection, and which file it is on. */
interface Opened {
  readonly connection: Connection;
  readonly file: string | undefined;
}

/**
 * The two connections of one store: opened when first asked for, and anew after one was dropped.
 *
 * SQLite does not notice when its file is moved away or another one put in its place: it would go on
 * writing to a file that nobody can find. The path is therefore looked at before each use.
 */
export class Connections {
  readonly path: string;
  readonly #options: FileOptions;
  #writer: Opened | undefined;
  #reader: Opened | undefined;
  /** The file was there once: to create it anew would hide a loss. */
  #existed = false;
  /** A commit's answer was lost: the log may hold what never reached the disk. */
  #logDoubtful = false;

  constructor(options: FileOptions) {
    this.#options = options;
    this.path = options.path === ":memory:" ? options.path : resolve(options.path);
  }

  get isMemory(): boolean {
    return this.path === ":memory:";
  }

  /** The writing connection, for who has the turn. Waits while others create or recover the file. */
  async writer(deadlineMs: number): Promise<Connection> {
    const file = this.#fileNow();
    if (this.#writer?.connection.log?.failed) this.#logDoubtful = true;
    if (this.#writer && (this.#writer.file !== file || this.#logDoubtful)) this.dropWriter();
    if (this.#writer) return this.#writer.connection;
    const { allowNetworkFileSystem, fileSystemType } = this.#options;
    if (!this.isMemory && !allowNetworkFileSystem) assertLocalFile(this.path, fileSystemType);
    const connection = await untilFree(() => this.#connect(), deadlineMs);
    this.#writer = { connection, file: this.#fileNow() };
    this.#existed = true;
    return connection;
  }

  /**
   * After a failed fsync the system may take what it could not write for written: later commits, whose
   * own fsync succeeds, would stand in the log behind a hole that a crash uncovers. The log is copied
   * into the database and emptied before anything is added to it.
   */
  #connect(): Connection {
    const connection = connectWriter(this.path, this.#options);
    try {
      if (this.#logDoubtful) emptyLog(connection);
      this.#logDoubtful = false;
      return connection;
    } catch (error) {
      connection.database.close();
      throw error;
    }
  }

  /** The reading connection. */
  reader(): Connection {
    const file = this.#fileNow();
    if (this.#reader && this.#reader.file !== file) this.dropReader();
    this.#reader ??= { connection: connectReader(this.path), file };
    return this.#reader.connection;
  }

  dropWriter(): void {
    const dropped = this.#writer;
    this.#writer = undefined;
    closeQuietly(dropped);
  }

  /** Drops the writing connection for an error that makes it doubtful; another one changes nothing. */
  doubtWriter(error: unknown): void {
    if (!(error instanceof CounterfoilError) || !needsReopen(error.code)) return;
    this.#logDoubtful ||= error.code === "COMMIT_UNKNOWN";
    this.dropWriter();
  }

  /** The same for the reading connection. */
  doubtReader(error: unknown): void {
    if (error instanceof CounterfoilError && needsReopen(error.code)) this.dropReader();
  }

  dropReader(): void {
    const dropped = this.#reader;
    this.#reader = undefined;
    closeQuietly(dropped);
  }

  /** Closes both, once what was committed is on the disk, and forgets which file they were on. */
  async close(): Promise<void> {
    await this.#writer?.connection.log?.close();
    this.dropReader();
    this.dropWriter();
    this.#existed = false;
  }

  /** Which file is at the path now. */
  #fileNow(): string | undefined {
    if (this.isMemory) return this.path;
    const stat = statSync(this.path, { throwIfNoEntry: false });
    if (stat) return `${stat.dev}:${stat.ino}`;
    if (!this.#existed) return undefined;
    throw new CounterfoilError(
      "STORE_UNAVAILABLE",
      `Cannot use ${this.path}: the file was moved or removed while it was open; put it back, or start anew`,
    );
  }
}

/** A handle that a failing disk has broken may fail to close as well; it is gone either way. */
function closeQuietly(opened: Opened | undefined): void {
  void opened?.connection.log?.close();
  try {
    opened?.connection.database.close();
  } catch {
    // Nothing to keep: what was committed is on disk, what was not is not.
  }
}
