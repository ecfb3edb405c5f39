/** A statement that controls a transaction. `name` is `null` for the transaction itself. */
export interface Control {
  readonly kind: "begin" | "savepoint" | "release" | "rollback" | "rollback-to";
  readonly name: string | null;
}

const identifier = String.raw`("(?:[^"]|"")+"|[\w$]+)`;
const whole = String.raw`(?:\s+(?:WORK|TRANSACTION))?`;
/** Modes that the engine's own transaction has. */
const modes = String.raw`(?:[\s,]+(?:ISOLATION\s+LEVEL\s+READ\s+(?:COMMITTED|UNCOMMITTED)|READ\s+WRITE|NOT\s+DEFERRABLE))*`;

const forms: readonly (readonly [Control["kind"], RegExp])[] = [
  ["begin", new RegExp(`^(?:BEGIN${whole}|START\\s+TRANSACTION)${modes}$`, "i")],
  ["release", new RegExp(`^(?:COMMIT|END)${whole}(?:\\s+AND\\s+NO\\s+CHAIN)?$`, "i")],
  ["rollback", new RegExp(`^(?:ROLLBACK|ABORT)${whole}(?:\\s+AND\\s+NO\\s+CHAIN)?$`, "i")],
  ["rollback-to", new RegExp(`^ROLLBACK${whole}\\s+TO(?:\\s+SAVEPOINT)?\\s*${identifier}$`, "i")],
  ["savepoint", new RegExp(`^SAVEPOINT\\s*${identifier}$`, "i")],
  ["release", new RegExp(`^RELEASE(?:\\s+SAVEPOINT)?\\s*${identifier}$`, "i")],
];

/**
 * Recognises one statement of transaction control, as ORMs write them. What it does not recognise and
 * `controls` does is to be refused.
 *
 * @example
 * ```ts
 * parseControl("begin isolation level read committed"); // { kind: "begin", name: null }
 * parseControl("SELECT 1"); // undefined
 * ```
 */
export function parseControl(text: string): Control | undefined {
  const statement = withoutComments(bare(text))
    .trim()
    .replace(/[\s;]+$/, "");
  for (const [kind, form] of forms) {
    const match = form.exec(statement);
    if (match) return { kind, name: match[1] === undefined ? null : bareName(match[1]) };
  }
  return undefined;
}

/**
 * What would end or change the engine's transaction, or stay on a connection that others use after it.
 * COPY is among them because its data have no way through the handle.
 */
const controlling =
  /^(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|PREPARE|DEALLOCATE|DISCARD|LISTEN|UNLISTEN|COPY|LOAD|RESET|SET(?!\s+(?:LOCAL(?!\s+TRANSACTION)|CONSTRAINTS)\b))\b/i;

/** Cursors and locks of the session, which outlive the transaction; locks of the transaction have `xact` in their names. */
const outliving = /\bpg_(?:try_)?advisory_(?:un)?lock(?:_shared|_all)?\s*\(|\bWITH\s+HOLD\b/i;

/**
 * Whether a text controls the transaction or the connection, by its first word. The server takes one
 * statement at a time from users, and inside of a transaction nothing but such a statement can end it.
 *
 * @example
 * ```ts
 * controls("-- now\ncommit"); // true
 * controls("SET LOCAL statement_timeout = '1s'"); // false
 * ```
 */
export function controls(text: string): boolean {
  const words = firstWords(text);
  return controlling.test(words) || outliving.test(words);
}

/** A text from its first word on, without comments. */
export function firstWords(text: string): string {
  return withoutComments(bare(text)).trim();
}

/** The text from its first word on: white space, comments (which nest) and empty statements go. */
function bare(text: string): string {
  let at = 0;
  for (;;) {
    at += /^[\s\uFEFF;]*/.exec(text.slice(at))?.[0].length ?? 0;
    const end = commentEnd(text, at);
    if (end === at) return text.slice(at);
    at = end;
  }
}

/** Where the comment that begins here ends; here, where none begins. */
export function commentEnd(text: string, from: number): number {
  if (text.startsWith("--", from)) {
    const end = text.indexOf("\n", from);
    return end < 0 ? text.length : end + 1;
  }
  if (!text.startsWith("/*", from)) return from;
  const marks = /\/\*|\*\//g;
  marks.lastIndex = from;
  let depth = 0;
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return text.length;
}

/** Comments between the words of a short statement; one that has quotes has none that matter here. */
function withoutComments(text: string): string {
  if (!/--|\/\*/.test(text)) return text;
  let rest = "";
  for (let at = 0; at < text.length;) {
    const end = commentEnd(text, at);
    rest += end > at ? " " : text.charAt(at);
    at = Math.max(end, at + 1);
  }
  return rest;
}

/** Names fold to lower case unless they are quoted. */
function bareName(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name.toLowerCase();
}
