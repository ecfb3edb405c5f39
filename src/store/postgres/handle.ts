import type { Stamp } from "../../domain/instant.ts";
import type { News, StoreLimits } from "../store.ts";
import type { LaneCursors } from "./lane-cursors.ts";
import type { Sql } from "./statements.ts";

/** Runs a statement of the engine's own; gives its rows. */
export type Run = <Row = unknown>(statement: Sql, values: readonly unknown[]) => Promise<readonly Row[]>;

/** What the functions of each topic work with: one transaction. */
export interface Handle {
  readonly run: Run;
  readonly stamp: Stamp;
  /** Where the tables are: a part of what advisory locks are named after, since those are the whole database's. */
  readonly schema: string;
  readonly limits: StoreLimits;
  readonly cursors: LaneCursors;
  /** Tells other processes of work, once the transaction is committed. */
  readonly say: (news: Partial<News>) => void;
  /** Does something once the transaction is committed, and not where it is not. */
  readonly afterCommit: (run: () => void) => void;
}

/** What reads work with: one state of the database. */
export interface ReadHandle {
  readonly run: Run;
  /** Runs a text that was put together for this call. */
  readonly runText: <Row = unknown>(text: string, values: readonly unknown[]) => Promise<readonly Row[]>;
  readonly now: number;
}
