/** A statement that controls a transaction. `name` is `null` for the transaction itself. */
export interface Control {
  readonly kind: "begin" | "savepoint" | "release" | "rollback" | "rollback-to";
  readonly name: string | null;
}

/** What SQLite skips before a statement: white space, a byte order mark, empty statements, comments. */
const leading = /^(?:[\s\uFEFF;]|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/;
const identifier = `("[^"]+"|\`[^\`]+\`|\\[[^\\]]+\\]|'[^']+'|[\\w$]+)`;

const forms: readonly (readonly [Control["kind"], RegExp])[] = [
  ["begin", /^BEGIN(?:\s+(?:DEFERRED|IMMEDIATE|EXCLUSIVE))?(?:\s+TRANSACTION)?$/i],
  ["release", /^(?:COMMIT|END)(?:\s+TRANSACTION)?$/i],
  ["rollback", /^ROLLBACK(?:\s+TRANSACTION)?$/i],
  ["rollback-to", new RegExp(`^ROLLBACK(?:\\s+TRANSACTION)?\\s+TO(?:\\s+SAVEPOINT)?\\s*${identifier}$`, "i")],
  ["savepoint", new RegExp(`^SAVEPOINT\\s*${identifier}$`, "i")],
  ["release", new RegExp(`^RELEASE(?:\\s+SAVEPOINT)?\\s*${identifier}$`, "i")],
];

/**
 * Recognises one statement of transaction control, as ORMs write them. What it does not recognise is
 * left to the statement guard, which refuses control in any other spelling.
 *
 * @example
 * ```ts
 * parseControl("begin immediate"); // { kind: "begin", name: null }
 * parseControl("SELECT 1"); // undefined
 * ```
 */
export function parseControl(text: string): Control | undefined {
  const statement = text.replace(leading, "").replace(/[\s;]+$/, "");
  for (const [kind, form] of forms) {
    const match = form.exec(statement);
    if (match) return { kind, name: match[1] === undefined ? null : bareName(match[1]) };
  }
  return undefined;
}

/** Whether a text holds no statement. */
export function isBlank(text: string): boolean {
  return text.replace(leading, "") === "";
}

/** Savepoint names compare without regard to case or quoting. */
function bareName(name: string): string {
  return (/^["`'[]/.test(name) ? name.slice(1, -1) : name).toLowerCase();
}
