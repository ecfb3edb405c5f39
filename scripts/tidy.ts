/** Checks what compiler, linter and formatter cannot: direction, banned calls, documents, pins. Each finding says what to do. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { errorCodes } from "../src/domain/errors.ts";
import { checkArrows } from "./tidy/arrows.ts";
import { checkBanned, checkHeader, checkLeftovers } from "./tidy/banned.ts";
import { checkDocumented, isEntry } from "./tidy/documented.ts";
import type { Rule } from "./tidy/file.ts";
import { checkErrorPage, checkPins } from "./tidy/manifest.ts";
import { checkLinks, checkOneTitle } from "./tidy/markdown.ts";

const rules: readonly Rule[] = [checkArrows, checkBanned, checkHeader, checkLeftovers, checkOneTitle, checkPins];
const texts = /\.(?:ts|js|css|html|json|md|sql|yml|yaml)$|(?:^|\/)(?:run|\.\w+)$/u;

const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" });
const paths = new Set(listed.split("\n").filter((path) => path !== "" && existsSync(path)));
const files = [...paths]
  .filter((path) => texts.test(path) && path !== "package-lock.json")
  .map((path) => ({ path, text: readFileSync(path, "utf8") }));
const errorPages = files.filter(({ path }) => path === "docs/errors.md");
const byPath = new Map(files.map(({ path, text }) => [path, text]));

const findings = [
  ...files.flatMap((file) => rules.flatMap((rule) => rule(file))),
  ...checkLinks(files, paths),
  ...files.filter(({ path }) => isEntry(path)).flatMap((entry) => checkDocumented(entry, byPath)),
  ...errorPages.flatMap((page) => checkErrorPage(page, Object.keys(errorCodes))),
];
for (const { path, line, say } of findings) console.error(`${path}:${line}: ${say}`);
console.log(`tidy: ${files.length} files, ${findings.length === 0 ? "clean" : `${findings.length} to mend`}`);
process.exitCode = findings.length === 0 ? 0 : 1;
