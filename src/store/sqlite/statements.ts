/** Prepared statements of one connection: the engine's own, by their definition, and users', by their text. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Probe } from "../../domain/probe.ts";
import { isBlank } from "./parse-control.ts";
import { type Approval, StatementGuard } from "./statement-guard.ts";

/** A statement of the engine's own: its name for crash points, and its text. */
export interface Sql {
  readonly name: string;
  readonly text: string;
  /** Rows come as arrays of values: the driver's objects are dictionaries, slow to make and to read. */
  readonly arrays: boolean;
}

/**
 * Names a statement once, at module level; its identity is the key of its prepared form.
 *
 * LIMIT takes `+?` and never a bare `?`, which SQLite since 3.47 plans by its value: it would prepare the
 * statement anew for each run, at a multiple of what the run costs.
 */
export function sql(name: string, text: string, { arrays = false }: { readonly arrays?: boolean } = {}): Sql {
  return { name, text, arrays };
}

export type Value = null | number | bigint | string | Uint8Array;

/** What the engine uses of a prepared statement. */
export interface Prepared {
  run(...values: Value[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
  get(...values: Value[]): Record<string, unknown> | undefined;
  all(...values: Value[]): Record<string, unknown>[];
}

/** A user's statement, ready to run. */
export interface UserStatement extends Approval {
  readonly statement: StatementSync;
  readonly returnsRows: boolean;
}

const userStatementsMax = 500;

export class Statements {
  readonly #database: DatabaseSync;
  readonly #probe: Probe | undefined;
  readonly guard: StatementGuard;
  readonly #own: Map<Sql, Prepared> = new Map();
  readonly #byTemplate: WeakMap<TemplateStringsArray, UserStatement> = new WeakMap();
  readonly #byText: Map<string, UserStatement> = new Map();

  constructor(database: DatabaseSync, probe?: Probe) {
    this.#database = database;
    this.#probe = probe;
    this.guard = new StatementGuard(database);
  }

  own(definition: Sql): Prepared {
    const known = this.#own.get(definition);
    if (known) return known;
    const driven = this.#database.prepare(definition.text);
    driven.setReturnArrays(definition.arrays);
    const statement = driven as Prepared;
    const prepared = this.#probe ? probed(statement, { name: definition.name, probe: this.#probe }) : statement;
    this.#own.set(definition, prepared);
    return prepared;
  }

  /** A template's statement; the template itself is the key, so that no text is built on a later call. */
  template(template: TemplateStringsArray): UserStatement {
    const known = this.#byTemplate.get(template);
    if (known) return known;
    const statement = this.text(template.join("?"));
    this.#byTemplate.set(template, statement);
    return statement;
  }

  text(text: string): UserStatement {
    const known = this.#byText.get(text);
    if (known) return known;
    const { value, approval } = this.guard.approve(text, () => this.#database.prepare(text));
    assertOneStatement(text, value);
    value.setReadBigInts(true);
    const statement = { statement: value, returnsRows: value.columns().length > 0, ...approval };
    if (this.#byText.size >= userStatementsMax) this.#byText.clear();
    this.#byText.set(text, statement);
    return statement;
  }

  /** Reports a step to the probe, before and after. */
  step<T>(name: string, run: () => T): T {
    return this.#probe ? probedCall(run, { name, probe: this.#probe }) : run();
  }
}

/** The driver prepares the first statement of a text and drops the rest without a word. */
function assertOneStatement(text: string, { sourceSQL }: StatementSync): void {
  if (isBlank(text.slice(sourceSQL.length))) return;
  throw new TypeError("Cannot run a text of several statements: give each its own call");
}

interface Probed {
  readonly name: string;
  readonly probe: Probe;
}

function probed(statement: Prepared, by: Probed): Prepared {
  return {
    run: (...values) => probedCall(() => statement.run(...values), by),
    get: (...values) => probedCall(() => statement.get(...values), by),
    all: (...values) => probedCall(() => statement.all(...values), by),
  };
}

function probedCall<T>(run: () => T, { name, probe }: Probed): T {
  probe(`sqlite.${name}:before`);
  const value = run();
  probe(`sqlite.${name}:after`);
  return value;
}
