import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { program } from "../../src/cli/program.ts";

const file = new URL("../../docs/cli.md", import.meta.url);
const marker = /^<!-- From here on: .* -->$/m;

function help(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 100 }).outputHelp();
  return text.trimEnd();
}

test("docs/cli.md shows every command as its help does", async () => {
  const { commands } = program();
  const page = readFileSync(file, "utf8");
  const prose = page.slice(0, page.search(marker)) + (marker.exec(page)?.[0] ?? "");
  const sections = commands.map((command) => `### ${command.name()}\n\n\`\`\`text\n${help(command)}\n\`\`\``);
  await expect(`${[prose, ...sections].join("\n\n")}\n`).toMatchFileSnapshot(file.pathname);
});

test("the root help names every command", () => {
  const root = program();
  const text = help(root);
  for (const command of root.commands) {
    expect(text).toMatch(new RegExp(`^  ${command.name()} .*${command.summary().slice(0, 20)}`, "m"));
  }
});

test("docs/cli.md has the table of exit codes", () => {
  // The formatter aligns the columns.
  const page = readFileSync(file, "utf8").replaceAll(/ +/g, " ").replaceAll(/-+/g, "-");
  const cells = page.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const rows = cells.filter(([, code = ""]) => /^\d$/.test(code)).map(([, code, meaning]) => [Number(code), meaning]);
  expect(rows).toEqual(Object.values(exitCodes).map(({ code, meaning }) => [code, meaning]));
});

test("every command has an example of its own in its help", () => {
  for (const command of program().commands) expect(help(command)).toContain(`  $ counterfoil ${command.name()}`);
});
