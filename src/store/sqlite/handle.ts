import type { DatabaseSync } from "node:sqlite";
import type { Stamp } from "../../domain/instant.ts";
import type { StoreLimits } from "../store.ts";
import type { Prepared, Sql } from "./statements.ts";

/** What the functions of each topic work with: the statements of a connection, inside one transaction. */
export interface Handle {
  readonly statement: (definition: Sql) => Prepared;
  readonly stamp: Stamp;
  readonly limits: StoreLimits;
}

/** What reads work with: one connection, in one read transaction. */
export interface ReadHandle {
  readonly statement: (definition: Sql) => Prepared;
  readonly database: DatabaseSync;
  readonly stamp: () => Stamp;
}
