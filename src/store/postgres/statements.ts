/** Statements: the engine's own, by name and text; users', from templates and from texts with question marks. */

/** A statement of the engine's own: its name for crash points, and its text, which names tables as `counterfoil.x`. */
export interface Sql {
  readonly name: string;
  readonly text: string;
  /** Its plan is the same whatever the tables hold: the server may keep it. */
  readonly isSteady: boolean;
}

/** Names a statement once, at module level; its identity is the key of its text in a schema. */
export function sql(name: string, text: string): Sql {
  return { name, text, isSteady: false };
}

/**
 * Names a statement that only inserts, or that has no other way than a unique index. The server may keep its
 * plan: made while the tables are small, a plan of another statement would read them from end to end later.
 */
export function steadySql(name: string, text: string): Sql {
  return { name, text, isSteady: true };
}

/** The schema that texts of ours are written with. */
export const writtenSchema = "counterfoil";

/** Puts a schema's name, quoted, in the place of the one that our texts are written with. */
export function inSchema(text: string, schema: string): string {
  return text.replaceAll(`${writtenSchema}.`, () => `${quoted(schema)}.`);
}

/** An identifier of any spelling, as SQL takes it. */
export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** The engine's own texts in one schema, each made once. */
export class SchemaTexts {
  readonly #schema: string;
  readonly #texts: Map<Sql, string> = new Map();

  constructor(schema: string) {
    this.#schema = schema;
  }

  of(definition: Sql): string {
    let text = this.#texts.get(definition);
    if (text === undefined) {
      text = inSchema(definition.text, this.#schema);
      this.#texts.set(definition, text);
    }
    return text;
  }
}

const templates: WeakMap<TemplateStringsArray, string> = new WeakMap();

/** A template's text, with `$1` for its first value; made once for each template. */
export function templateText(template: TemplateStringsArray): string {
  let text = templates.get(template);
  if (text === undefined) {
    text = template.reduce((before, part, index) => `${before}$${index}${part}`);
    templates.set(template, text);
  }
  return text;
}

/** Text that holds no placeholder, whatever it looks like: strings, names, comments. */
const opaque = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g;

/**
 * Numbers the question marks of a text that stand for values.
 *
 * @example
 * ```ts
 * numbered("a = ? AND b = '?' AND c = ?"); // "a = $1 AND b = '?' AND c = $2"
 * ```
 */
export function numbered(text: string): string {
  let count = 0;
  return text.replaceAll(opaque, (part) => {
    if (part !== "?") return part;
    count += 1;
    return `$${count}`;
  });
}
