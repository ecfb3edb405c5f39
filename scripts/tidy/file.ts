/** A text file of the repository; `path` is relative to its root, with forward slashes. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** One thing to mend: where, and what to do instead. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly say: string;
}

/** Looks at one file by itself. */
export type Rule = (file: TextFile) => readonly Finding[];

/** Every match of a global pattern, with the number of the line that it starts on. */
export function matchesByLine(
  text: string,
  pattern: RegExp,
): readonly { readonly line: number; readonly match: RegExpExecArray }[] {
  return [...text.matchAll(pattern)].map((match) => ({ line: text.slice(0, match.index).split("\n").length, match }));
}

/** The same text, lines kept, without lines that are only comment: prose may name what code may not do. */
export function withoutCommentLines(text: string): string {
  return text.replaceAll(/^[ \t]*(?:\/\/|\/\*|\*).*$/gmu, "");
}

/** Code that ships, as against the tests beside it. */
export function isShipped(path: string): boolean {
  return path.startsWith("src/") && !/\.(?:test|conformance)\.ts$/u.test(path);
}
