import { expect, test } from "vitest";
import { contains, equal, throws } from "./checks.ts";
import { compile, indexExports } from "./compile.ts";
import { extract } from "./extract.ts";

test("a source's examples are its ts blocks, without the fragments, each with its line", () => {
  const text =
    "/**\n * Doubles.\n *\n * ```ts\n * double(2); // 4\n * ```\n * ```ts no-run\n * later();\n * ```\n */\n";
  expect(extract("src/a.ts", text)).toEqual([{ path: "src/a.ts", line: 5, code: "double(2); // 4\n" }]);
});

test("a page's examples are the blocks that say so", () => {
  const text = "# A\n\n```ts\nno();\n```\n\n```ts run\nyes();\n```\n";
  expect(extract("docs/a.md", text)).toEqual([{ path: "docs/a.md", line: 8, code: "yes();\n" }]);
});

function compiled(code: string): readonly string[] {
  const sources = [
    { path: "src/a.ts", text: "export function double(x: number): number {}\nexport interface Shape {}\n" },
    { path: "src/b.ts", text: "export const double = 1;\nexport class Only {}\n" },
    { path: "src/c.ts", text: "export const clash = 1;\n" },
    { path: "src/d.ts", text: "export const clash = 2;\n" },
  ];
  const text = compile({ path: "src/a.ts", line: 1, code }, indexExports(sources), ".examples/run");
  return text.split("\n").filter((line) => line !== "" && line !== "export {};" && !line.startsWith("import * as $"));
}

test("names come from the example's own file, else from the only file that exports them", () => {
  expect(compiled("const x: Shape = new Only(double, clash);")).toEqual([
    'import { type Shape } from "../../src/a.ts";',
    'import { Only } from "../../src/b.ts";',
    'import { double } from "../../src/a.ts";',
    "const x: Shape = new Only(double, clash);",
  ]);
});

test("a name that the example declares or reads as a property is not imported", () => {
  expect(compiled("const { double } = it.Only;")).toEqual(["const { double } = it.Only;"]);
});

test("a value behind a statement is checked, on one line or several; words, and notes behind a declaration, are prose", () => {
  expect(compiled('f(1); // 2\nf({\n  a: 1;\n}); // "x"\nconst y = 1; // one')).toEqual([
    "$.equal(f(1), 2);",
    "$.equal(f({",
    "  a: 1;",
    '}), "x");',
    "const y = 1; // one",
  ]);
  expect(compiled("f(1); // the second call")).toEqual(["f(1); // the second call"]);
  expect(compiled("f(1); // throws RangeError: Cannot")).toEqual([
    'await $.throws(async () => f(1), "RangeError: Cannot");',
  ]);
  expect(compiled("f(1); // ... part")).toEqual(['$.contains(f(1), "part");']);
});

test("checks fail on another value, a missing part, another error and none", async () => {
  equal({ a: 1 }, { a: 1 });
  expect(() => equal(1, "1")).toThrow();
  contains("abc", "b");
  expect(() => contains("abc", "x")).toThrow("abc does not contain x");
  const refuse = (): Promise<never> => Promise.reject(new RangeError("no"));
  await throws(refuse, "RangeError: n");
  await expect(throws(refuse, "TypeError")).rejects.toThrow("does not begin with TypeError");
  await expect(throws(() => Promise.resolve(), "RangeError")).rejects.toThrow();
});
