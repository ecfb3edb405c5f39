import type { Command } from "commander";
import { expect, test } from "vitest";
import { program } from "../program.ts";
import { bulkCommand } from "./bulk.ts";
import { pauseCommand } from "./pause.ts";
import { resumeCommand } from "./resume.ts";

/** What a command says to words that it does not take; it opens nothing before. */
async function refusalOf(command: Command, ...words: readonly string[]): Promise<string> {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  return command.parseAsync(words, { from: "user" }).then(
    () => "nothing",
    (error: Error) => error.message,
  );
}

test("a filter or a reason that does not fit a bulk action is refused", async () => {
  const refused = (...words: readonly string[]): Promise<string> => refusalOf(bulkCommand(), ...words);
  expect(await refused("retry", "--outcome", "held")).toContain("--outcome does not fit bulk retry");
  expect(await refused("apply", "--state", "stuck")).toContain("--state does not fit bulk apply");
  expect(await refused("cancel")).toContain("bulk cancel needs --reason");
  expect(await refused("forget")).toContain("Allowed choices are retry, lookup, cancel, apply, reprocess");
  expect(await refused("retry", "--since", "yesterday")).toContain("a time with its zone");
});

test("a command that asks why in words of its own asks once, and says that it must be told", () => {
  const helpOf = (name: string) =>
    program()
      .commands.find((command) => command.name() === name)!
      .helpInformation();
  for (const help of ["pause", "cancel", "done"].map(helpOf)) {
    expect(help).toMatch(/--(?:reason|evidence) <text> [^\n]*(?:\n {10,}[^\n]*)?\(required\)/);
    expect(help).not.toContain("--why");
  }
  expect(helpOf("retry")).toContain("--why");
});

test("what is paused or resumed is one destination or one connection, and pausing says why", async () => {
  const either = "name either a destination, or a connection with --connection";
  for (const names of [[], ["https://carrier.example", "--connection", "stripe"]]) {
    expect(await refusalOf(pauseCommand(), ...names, "--reason", "x")).toContain(either);
    expect(await refusalOf(resumeCommand(), ...names)).toContain(either);
  }
  expect(await refusalOf(pauseCommand(), "https://carrier.example")).toContain("required option '--reason <text>'");
});
