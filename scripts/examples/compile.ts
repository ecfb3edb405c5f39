import { relative } from "node:path";
import type { Example } from "./extract.ts";

/** Where an exported name stands, and whether it exists at run time. */
export interface Export {
  readonly path: string;
  readonly isType: boolean;
}

/** A name may be exported by several files; an example means the one in its own file, else the only one. */
export type ExportIndex = ReadonlyMap<string, readonly Export[]>;

export function indexExports(sources: readonly { readonly path: string; readonly text: string }[]): ExportIndex {
  const index = new Map<string, Export[]>();
  for (const { path, text } of sources) {
    for (const [, kind, name = ""] of text.matchAll(
      /^export (?:async )?(function|const|class|interface|type) (\w+)/gmu,
    )) {
      const found = { path, isType: kind === "interface" || kind === "type" };
      index.set(name, [...(index.get(name) ?? []).filter((other) => other.path !== path || found.isType), found]);
    }
  }
  return index;
}

const ownNames =
  /\b(?:const|let|function|class|type|interface) +(\w+)|\b(?:const|let|import(?: type)?) *[{[]([^}\]]*)[}\]]/gu;

/**
 * Makes a module of an example that stands in `folder`: what it does not declare is imported from the sources,
 * and a value noted behind a statement is checked.
 */
export function compile({ path, code }: Example, index: ExportIndex, folder: string): string {
  const own = new Set(
    [...code.matchAll(ownNames)].flatMap(([, name, list]) => (name ?? list ?? "").match(/\w+/gu) ?? []),
  );
  const used = new Set(code.match(/(?<![.\w"'])[A-Za-z]\w*/gu));
  const imports = [...used].flatMap((name) => {
    const candidates = own.has(name) ? [] : (index.get(name) ?? []);
    const found =
      candidates.find((candidate) => candidate.path === path) ?? (candidates.length === 1 ? candidates[0] : undefined);
    return found ? [`import { ${found.isType ? "type " : ""}${name} } from "${relative(folder, found.path)}";`] : [];
  });
  const checks = `import * as $ from "${relative(folder, "scripts/examples/checks.ts")}";`;
  return [checks, ...imports, ...statements(code).map(check), "export {};", ""].join("\n");
}

/** Splits code into its top-level statements: each ends at an unindented line that closes one. */
function statements(code: string): readonly string[] {
  const found: string[] = [];
  const open: string[] = [];
  for (const line of code.split("\n")) {
    open.push(line);
    if (/^(?:\S.*)?;(?: *\/\/.*)?$|^\}$|^\/\/|^$/u.test(line)) found.push(open.splice(0).join("\n"));
  }
  return [...found, ...open];
}

const declaration = /^(?:const|let|import|export|function|async function|class|type|interface|if|for|throw|\/\/)\b/u;

/** What reads as a value; a note in words is prose. */
const value = /^(?:["'`\d[{(-]|(?:true|false|null|undefined|NaN|Infinity)$|new |[A-Z]\w*[.(])/u;

/** `expression; // value` holds; `// throws Name: text` and `// ... part of the text` say less than the whole. */
function check(statement: string): string {
  const [, expression, note] = /^(\S.*); *\/\/ (.+)$/su.exec(statement) ?? [];
  if (expression === undefined || note === undefined || declaration.test(statement)) return statement;
  if (note.startsWith("throws ")) return `await $.throws(async () => ${expression}, ${JSON.stringify(note.slice(7))});`;
  if (note.startsWith("... ")) return `$.contains(${expression}, ${JSON.stringify(note.slice(4))});`;
  return value.test(note) ? `$.equal(${expression}, ${note});` : statement;
}
