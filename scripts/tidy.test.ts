import { describe, expect, test } from "vitest";
import { checkArrows, partOf } from "./tidy/arrows.ts";
import { checkBanned, checkHeader, checkLeftovers } from "./tidy/banned.ts";
import { checkDocumented } from "./tidy/documented.ts";
import type { Finding } from "./tidy/file.ts";
import { checkErrorPage, checkPins } from "./tidy/manifest.ts";
import { checkLinks, checkOneTitle } from "./tidy/markdown.ts";

/** Findings as the lines that a reader sees. */
const said = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ path, line, say }) => `${path}:${line}: ${say}`);

const arrow = (path: string, specifier: string): readonly Finding[] =>
  checkArrows({ path, text: `import { x } from "${specifier}";\n` });

describe("arrows", () => {
  test("a part is the top folder, or the engine's folder in store/", () => {
    expect(
      ["src/work/unit.ts", "src/store/store.ts", "src/store/sqlite/queries/owe.ts", "src/index.ts"].map(partOf),
    ).toEqual(["work", "store", "store/sqlite", "index"]);
  });

  test.each([
    ["src/domain/names.ts", "../work/unit.ts"],
    ["src/verify/hmac.ts", "../parse/json.ts"],
    ["src/work/unit.ts", "../store/sqlite/index.ts"],
    ["src/inbox/receive.ts", "../outbox/claim.ts"],
    ["src/outbox/claim.ts", "../inbox/receive.ts"],
    ["src/store/sqlite/a.ts", "../postgres/b.ts"],
    ["src/store/postgres/a.ts", "../sqlite/b.ts"],
    ["src/telemetry/log.ts", "../work/unit.ts"],
    ["src/testing/kit.ts", "../cli/main.ts"],
    ["src/testing/kit.ts", "../dashboard/page.ts"],
    ["src/http/hooks.ts", "../app/app.ts"],
    ["src/app/app.ts", "../dashboard/page.ts"],
    ["src/worker/worker.ts", "../operator/retry.ts"],
    ["src/http/a.ts", "../testing/kit.ts"],
    ["src/index.ts", "./testing/index.ts"],
    ["src/index.ts", "./cli/main.ts"],
  ])("%s may not import %s", (path, specifier) => {
    expect(said(arrow(path, specifier))).toEqual([
      expect.stringMatching(/:1: .* may not import .*: move what both need down/u),
    ]);
  });

  test.each([
    ["src/domain/names.ts", "./json.ts"],
    ["src/work/unit.ts", "../store/store.ts"],
    ["src/inbox/receive.ts", "../work/unit.ts"],
    ["src/worker/worker.ts", "../outbox/claim.ts"],
    ["src/app/app.ts", "../http/hooks.ts"],
    ["src/cli/serve.ts", "../app/app.ts"],
    ["src/testing/kit.ts", "../store/sqlite/index.ts"],
    ["src/work/unit.test.ts", "../testing/index.ts"],
  ])("%s may import %s", (path, specifier) => {
    expect(arrow(path, specifier)).toEqual([]);
  });

  test("every form of import counts, and each finding names its line", () => {
    const text = [
      "// one",
      'export { a } from "../work/a.ts";',
      'import type {\n  B,\n} from "../work/b.ts";',
      'const c = await import("../work/c.ts");',
      'import "../work/d.ts";',
      'type E = import("../work/e.ts").E;',
    ].join("\n");
    expect(checkArrows({ path: "src/domain/x.ts", text }).map(({ line }) => line)).toEqual([2, 5, 6, 7, 8]);
  });

  test("sources import each other's files, never the package by name, except in an example of its documentation", () => {
    expect(arrow("src/app/app.ts", "counterfoil/sqlite")[0]?.say).toContain("import the source file");
    expect(checkArrows({ path: "src/app/app.ts", text: ' * import { effect } from "counterfoil";' })).toEqual([]);
  });

  test("a new folder must take its place in the map", () => {
    expect(arrow("src/misc/helper.ts", "./x.ts")[0]?.say).toContain("no place in the map");
  });
});

describe("banned calls", () => {
  const banned = (path: string, text: string): readonly string[] => said(checkBanned({ path, text }));

  test.each([
    [
      "src/work/a.ts",
      "\nconst now = Date.now();",
      "src/work/a.ts:2: Date.now(: read the injected Clock: tests move it",
    ],
    ["src/work/a.ts", "const now = new Date();", expect.stringContaining("injected Clock")],
    ["src/outbox/a.ts", "performance.now();", expect.stringContaining("injected Clock")],
    ["src/worker/a.ts", "setTimeout(poll, 10);", expect.stringContaining("Clock and its timer")],
    ["src/work/a.ts", "const chance = Math.random;", expect.stringContaining("injected Random")],
    ["test/a.test.ts", "await delay(10);", expect.stringContaining("eventually()")],
    [
      "src/work/a.test.ts",
      "await new Promise((resolve) => setTimeout(resolve, 10));",
      expect.stringContaining("eventually()"),
    ],
    ["src/work/a.test.ts", "await sleep(pauseMs);", expect.stringContaining("eventually()")],
    [
      "src/work/a.ts",
      "class A {\n  private readonly x = 1;\n}",
      expect.stringContaining(":2: private readonly x =: use a #private"),
    ],
    ["src/work/a.ts", "export const f = (x: number): number => x;", expect.stringContaining("function declaration")],
  ])("%s may not say %j", (path, text, finding) => {
    expect(banned(path, text)).toEqual([finding]);
  });

  test.each([
    ["src/domain/system-clock.ts", "wallMs: () => Date.now(),"],
    ["src/telemetry/logger.ts", "const at = Date.now();"],
    ["src/domain/random.ts", "export const systemRandom: Random = Math.random;"],
    ["src/work/a.ts", "const at = new Date(instant);"],
    ["src/store/sqlite/turn.ts", "const timer = setTimeout(giveUp, waitMs);"],
    ["src/work/a.ts", "class A {\n  private constructor() {}\n}"],
    ["src/work/a.ts", "/** Never Date.now(): the clock is injected. */"],
    ["src/work/a.ts", "function f(): void {\n  const g = (x: number) => x;\n}"],
    ["src/work/a.test.ts", "const now = Date.now();"],
    ["test/a.test.ts", "await sleep(1);"],
    ["test/a.test.ts", "const watchdog = setTimeout(() => child.kill(), 10_000);"],
  ])("%s may say %j", (path, text) => {
    expect(banned(path, text)).toEqual([]);
  });
});

test("a module's header stands above its imports", () => {
  const header = "/**\n * Protocol.\n */\n";
  const [first, second] = ['import { a } from "./a.ts";\n', 'import {\n  b,\n} from "./b.ts";\n'];
  expect(checkHeader({ path: "src/x.ts", text: `${header}${first}${second}` })).toEqual([]);
  expect(checkHeader({ path: "src/x.ts", text: `${first}${second}\n/** A. */\nexport const a = 1;` })).toEqual([]);
  expect(said(checkHeader({ path: "src/x.ts", text: `${first}${header}${second}` }))).toEqual([
    "src/x.ts:2: the module's header stands among its imports: move it above them, and leave a line free below it",
  ]);
});

describe("leftovers", () => {
  test.each([
    ["TO", "DO: later"].join(""),
    ["", "work", "main"].join("/"),
    ["..", "shared"].join("/"),
    ["", "root", ".npmrc"].join("/"),
  ])("no file may say %j", (text) => {
    expect(checkLeftovers({ path: "docs/a.md", text: `one\n(${text})` })).toEqual([
      { path: "docs/a.md", line: 2, say: expect.any(String) as string },
    ]);
  });

  test("the folder src/work/ and relative imports of it are no machine paths", () => {
    expect(
      checkLeftovers({ path: "src/a.ts", text: 'import "../work/unit.ts"; // src/work/unit.ts, a todo list' }),
    ).toEqual([]);
  });
});

describe("documents", () => {
  test("a page has one title, and a comment in a shell block is none", () => {
    expect(checkOneTitle({ path: "a.md", text: "# A\n\n```sh\n# run\n```\n" })).toEqual([]);
    expect(said(checkOneTitle({ path: "a.md", text: "# A\n\n# B\n" }))).toEqual([
      expect.stringContaining("a.md:3: has 2"),
    ]);
    expect(said(checkOneTitle({ path: "a.md", text: "text\n" }))).toEqual([expect.stringContaining("a.md:1: has 0")]);
  });

  test("links lead to files and headings that exist", () => {
    const page = {
      path: "docs/a.md",
      text: "# A page\n\n[up](../README.md#two-words) [folder](../src) [here](#a-page) [web](https://x.y)\n",
    };
    const readme = { path: "README.md", text: "# R\n\n## Two words\n" };
    const paths = new Set(["docs/a.md", "README.md", "src/index.ts"]);
    expect(checkLinks([page, readme], paths)).toEqual([]);
    expect(
      said(checkLinks([{ path: "docs/a.md", text: "# A\n[b](b.md)\n[c](../README.md#three)" }, readme], paths)),
    ).toEqual([
      'docs/a.md:2: link to "b.md": there is no docs/b.md',
      'docs/a.md:3: link to "../README.md#three": README.md has no heading for #three',
    ]);
  });

  test("what an entry exports is documented where it is declared", () => {
    const text = "/** A. */\nexport function a(): void {}\n\nexport interface B {}\n\nexport const inner = 1;\n";
    const entry = { path: "src/index.ts", text: 'export { a, type B } from "./x/a.ts";\n' };
    expect(said(checkDocumented(entry, new Map([["src/x/a.ts", text]])))).toEqual([
      "src/x/a.ts:4: B is public and says nothing of itself: give it a JSDoc comment",
    ]);
  });

  test("the page of errors lists exactly the codes of the table", () => {
    const page = (...codes: readonly string[]): { readonly path: string; readonly text: string } => ({
      path: "docs/errors.md",
      text: `# Errors\n\n${codes.map((code) => `| \`${code}\` | meaning |\n`).join("")}`,
    });
    expect(checkErrorPage(page("A", "B"), ["A", "B"])).toEqual([]);
    expect(said(checkErrorPage(page("A"), ["A", "B"]))).toEqual(["docs/errors.md:3: B is not explained"]);
    expect(said(checkErrorPage(page("A", "C"), ["A"]))[0]).toContain("docs/errors.md:4: C stands where");
  });
});

test("a dependency with a range is a finding on its line", () => {
  const text =
    '{\n  "dependencies": {\n    "a": "1.2.3",\n    "b": "^1.2.3"\n  },\n  "overrides": { "c": "2.0.0-beta.1", "d": "next" }\n}';
  expect(said(checkPins({ path: "package.json", text }))).toEqual([
    'package.json:4: b is "^1.2.3": pin one exact version',
    'package.json:6: d is "next": pin one exact version',
  ]);
});
