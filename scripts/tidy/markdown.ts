import { posix } from "node:path";
import { type Finding, matchesByLine, type TextFile } from "./file.ts";

/** The same text, lines kept, with code blocks emptied: a comment in a shell block is no heading. */
function prose(text: string): string {
  return text.replaceAll(/^(```+).*?^\1$/gmsu, (block) => block.replaceAll(/[^\n]+/gu, ""));
}

export function checkOneTitle({ path, text }: TextFile): readonly Finding[] {
  if (!path.endsWith(".md")) return [];
  const titles = matchesByLine(prose(text), /^# /gmu);
  if (titles.length === 1) return [];
  return [{ path, line: titles[1]?.line ?? 1, say: `has ${titles.length} first-level headings: give it exactly one` }];
}

/** The anchor that a heading gets when it is rendered. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/gu, "-");
}

/** Relative links lead to a file of the repository and, with an anchor, to a heading in it. */
export function checkLinks(files: readonly TextFile[], paths: ReadonlySet<string>): readonly Finding[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const isKnown = (target: string): boolean =>
    paths.has(target) || [...paths].some((path) => path.startsWith(`${target}/`));
  return files.flatMap(({ path, text }) => {
    if (!path.endsWith(".md")) return [];
    return matchesByLine(prose(text), /\]\(([^)\s]+)\)/gu).flatMap(({ line, match }) => {
      const link = match[1] ?? "";
      if (/^[a-z][a-z+.-]*:/u.test(link)) return [];
      const [to = "", anchor] = link.split("#");
      const target = to === "" ? path : posix.join(posix.dirname(path), to).replace(/\/$/u, "");
      if (!isKnown(target)) return [{ path, line, say: `link to "${link}": there is no ${target}` }];
      const headings = matchesByLine(prose(texts.get(target) ?? ""), /^#+ (.+)$/gmu);
      if (anchor === undefined || headings.some((heading) => anchorOf(heading.match[1] ?? "") === anchor)) return [];
      return [{ path, line, say: `link to "${link}": ${target} has no heading for #${anchor}` }];
    });
  });
}
