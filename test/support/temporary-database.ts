export type Row = Readonly<Record<string, unknown>>;

export interface TemporaryDatabaseOptions {
  /** Spare the disk: nothing of the test survives a power cut, or has to. Default `false`. */
  readonly inMemory?: boolean;
}

/** A database of a test's own, which is gone at the end of its scope. */
export interface TemporaryDatabase extends AsyncDisposable {
  /** What `storeAt` opens: the path of a file, or a URL. */
  readonly address: string;
  /** A folder of the test's own. */
  readonly folder: string;
  /** Runs one statement from outside of what is tested. */
  readonly run: (text: string) => Promise<readonly Row[]>;
  /** The names of our own tables, as `ours` gives them. */
  readonly ourTables: () => Promise<readonly string[]>;
  /** Keeps every write of others waiting until it is let go; with `reads`, reads too where the engine can. */
  readonly lock: (options?: { readonly reads?: boolean }) => Promise<AsyncDisposable>;
  /** Whether no connection has a transaction open, not even to read. */
  readonly isIdle: () => Promise<boolean>;
  /** Another database with what is committed in this one, as a backup that was restored. */
  readonly copy: () => Promise<TemporaryDatabase>;
}
