import { posix } from "node:path";
import { type Finding, isShipped, matchesByLine, type TextFile, withoutCommentLines } from "./file.ts";

const pure = ["domain", "verify", "parse", "providers", "store"];
const engine = [...pure, "work"];
const driven = [...engine, "inbox", "outbox"];
const wired = [...driven, "worker", "operator", "http", "telemetry", "store/sqlite", "store/postgres"];

/** What each part of src/ may import besides itself. Only the wiring knows an engine by name. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  telemetry: ["domain"],
  adapters: ["domain"],
  parse: ["domain"],
  verify: ["domain"],
  providers: ["domain", "verify", "parse"],
  store: ["domain"],
  "store/sqlite": ["domain", "store"],
  "store/postgres": ["domain", "store"],
  "store/conformance": ["domain", "store", "testing"],
  work: pure,
  inbox: engine,
  outbox: engine,
  worker: driven,
  operator: driven,
  http: [...driven, "operator"],
  front: [...driven, "http"],
  copy: ["domain", "store", "store/sqlite", "store/postgres"],
  app: [...wired, "front"],
  cli: [...wired, "app", "copy"],
  index: [...wired, "app"],
  testing: [...wired, "app", "index"],
};

/** The part of src/ that a path belongs to: its top folder, or the engine's folder inside store/. */
export function partOf(path: string): string {
  const [, top = "", next = ""] = path.split("/");
  const nested = `${top}/${next}`;
  return nested in mayImport ? nested : top.replace(/\.ts$/u, "");
}

/** Dependencies point one way; see ARCHITECTURE.md. Types count: a type import ties two parts as well. */
export function checkArrows({ path, text }: TextFile): readonly Finding[] {
  if (!isShipped(path)) return [];
  const part = partOf(path);
  const allowed = mayImport[part];
  if (allowed === undefined) {
    return [
      {
        path,
        line: 1,
        say: `src/${part} has no place in the map: add it to scripts/tidy/arrows.ts and ARCHITECTURE.md`,
      },
    ];
  }
  return matchesByLine(withoutCommentLines(text), /\b(?:from|import)\s*\(?\s*"(\.[^"]+|counterfoil[^"]*)"/gu).flatMap(
    ({ line, match }) => {
      const specifier = match[1] ?? "";
      if (!specifier.startsWith(".")) return [{ path, line, say: `import the source file instead of "${specifier}"` }];
      const target = partOf(posix.join(posix.dirname(path), specifier));
      if (target === part || allowed.includes(target)) return [];
      return [{ path, line, say: `${part}/ may not import ${target}/: move what both need down, or pass it in` }];
    },
  );
}
