import { PassThrough } from "node:stream";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { eventually } from "./eventually.ts";
import { onLine } from "./lines.ts";

test("lines are the same however the bytes are cut, and the unfinished last one is none", async () => {
  const text = "first\n\n\u2028 ü \u{1f4e6}\nlast\nunfinished";
  const bytes = Buffer.from(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: bytes.length }), { maxLength: 6 }), async (cuts) => {
      const input = new PassThrough();
      const lines: string[] = [];
      onLine(input, (line) => lines.push(line));
      let from = 0;
      for (const cut of cuts.toSorted((one, other) => one - other)) input.write(bytes.subarray(from, (from = cut)));
      input.end(bytes.subarray(from));
      await eventually(() => input.readableEnded);
      expect(lines).toEqual(text.split("\n").slice(0, -1));
    }),
  );
});
