import type { Readable } from "node:stream";

/**
 * Calls `hear` with each line, without its line feed. Unlike node:readline, which also splits at U+2028
 * and U+2029: JSON leaves those two as they are. What follows the last line feed is no line.
 */
export function onLine(input: Readable, hear: (line: string) => void): void {
  let unfinished = "";
  input.setEncoding("utf8").on("data", (text: string) => {
    const lines = (unfinished + text).split("\n");
    unfinished = lines.pop() ?? "";
    for (const line of lines) hear(line);
  });
}
