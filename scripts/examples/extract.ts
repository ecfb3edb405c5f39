/** A piece of documentation that runs: its code and where it stands. */
export interface Example {
  readonly path: string;
  readonly line: number;
  readonly code: string;
}

/**
 * Finds the examples of a file.
 *
 * In sources every `ts` block of a JSDoc comment is one, unless it says `ts no-run` because it is a fragment.
 * In Markdown only a block that says `ts run` is.
 */
export function extract(path: string, text: string): readonly Example[] {
  const fence = path.endsWith(".md") ? /^()```ts run\n(.*?)^```$/gmsu : /^( *\* )```ts\n(.*?)^ *\* ```$/gmsu;
  return [...text.matchAll(fence)].map(({ index, 1: prefix = "", 2: body = "" }) => ({
    path,
    line: text.slice(0, index).split("\n").length + 1,
    code: body
      .split("\n")
      .map((line) => line.slice(prefix.length))
      .join("\n"),
  }));
}
