import { posix } from "node:path";
import { type Finding, matchesByLine, type TextFile } from "./file.ts";

/** The files that users import; package.json's exports point at them. */
export function isEntry(path: string): boolean {
  return /^src\/(?:index|(?:adapters|providers|testing|store\/(?:sqlite|postgres))\/index)\.ts$/u.test(path);
}

/** Every public export carries a JSDoc comment where it is declared: meaning, units, errors. */
export function checkDocumented(entry: TextFile, texts: ReadonlyMap<string, string>): readonly Finding[] {
  const lists = matchesByLine(entry.text, /^export (?:type )?\{([^}]*)\} from "([^"]+)"/gmu);
  return lists.flatMap(({ match: [, list = "", from = ""] }) => {
    const path = posix.join(posix.dirname(entry.path), from);
    const text = texts.get(path) ?? "";
    return (list.match(/\w+(?=\s*(?:,|$))/gu) ?? []).flatMap((name) => {
      const declared = new RegExp(
        `^export (?:abstract )?(?:async )?(?:function|class|interface|type|const) ${name}\\b`,
        "mu",
      );
      const at = declared.exec(text)?.index;
      if (at === undefined || text.slice(0, at).trimEnd().endsWith("*/")) return [];
      const line = text.slice(0, at).split("\n").length;
      return [{ path, line, say: `${name} is public and says nothing of itself: give it a JSDoc comment` }];
    });
  });
}
