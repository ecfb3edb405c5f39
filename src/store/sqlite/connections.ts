import { resolve } from "node:path";
import { CounterfoilError } from "../../domain/errors.ts";
import type { Probe } from "../../domain/probe.ts";
import { connectReader, connectWriter, type Connection } from "./connection.ts";
import { needsReopen } from "./errors.ts";
import { assertLocalFile } from "./file-system.ts";
import { untilFree } from "./until-free.ts";

export interface FileOptions {
  /** The file, or `:memory:`. */
  readonly path: string;
  readonly allowNetworkFileSystem: boolean;
  /** Page size of a file that is created. */
  readonly pageBytes: number;
  readonly probe?: Probe | undefined;
  /** For tests: the most pages of the file, and what its file system says it is. */
  readonly pagesMax?: number | undefined;
  readonly fileSystemType?: ((folder: string) => number) | undefined;
}

/** The two connections of one store: opened when first asked for, and anew after one was dropped. */
export class Connections {
  readonly path: string;
  readonly #options: FileOptions;
  #writer: Connection | undefined;
  #reader: Connection | undefined;

  constructor(options: FileOptions) {
    this.#options = options;
    this.path = options.path === ":memory:" ? options.path : resolve(options.path);
  }

  get isMemory(): boolean {
    return this.path === ":memory:";
  }

  /** The writing connection. Waits while others create or recover the file. */
  async writer(deadlineMs: number): Promise<Connection> {
    if (this.#writer) return this.#writer;
    const { allowNetworkFileSystem, fileSystemType } = this.#options;
    if (!this.isMemory && !allowNetworkFileSystem) assertLocalFile(this.path, fileSystemType);
    this.#writer = await untilFree(() => connectWriter(this.path, this.#options), deadlineMs);
    return this.#writer;
  }

  reader(): Connection {
    this.#reader ??= connectReader(this.path);
    return this.#reader;
  }

  /** Closes the connections where an error makes them doubtful; the next use opens them anew. */
  doubt(error: unknown): void {
    if (error instanceof CounterfoilError && needsReopen(error.code)) this.close();
  }

  /** As {@link Connections.doubt}, where only the reading connection met the error. */
  doubtReader(error: unknown): void {
    if (!(error instanceof CounterfoilError) || !needsReopen(error.code)) return;
    closeQuietly(this.#reader);
    this.#reader = undefined;
  }

  close(): void {
    const open = [this.#writer, this.#reader];
    this.#writer = undefined;
    this.#reader = undefined;
    for (const connection of open) closeQuietly(connection);
  }
}

/** A handle that a failing disk has broken may fail to close as well; it is gone either way. */
function closeQuietly(connection: Connection | undefined): void {
  try {
    connection?.database.close();
  } catch {
    // Nothing to keep: what was committed is on disk, what was not is not.
  }
}
