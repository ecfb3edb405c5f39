import { Argument, type Command } from "commander";
import { catalogue } from "../../providers/catalogue.ts";
import { describeProvider, type ProviderDescription, spanText } from "../../providers/describe-provider.ts";
import { baseCommand, type SharedOptions } from "../base-command.ts";
import { printResult, printRows } from "../output.ts";
import { recordText, tableText } from "../table.ts";

export function providersCommand(): Command {
  return baseCommand(
    {
      name: "providers",
      summary: "List the senders that are known, or show one with all that is known of it",
      details: "What no document of a provider confirms is said to be unconfirmed.",
      examples: ["providers", "providers show stripe", "providers show mailgun --json"],
    },
    { config: false },
  )
    .addArgument(new Argument("[action]", "what to do").choices(["show"]))
    .argument("[name]", "the preset's name")
    .action((action: string | undefined, name: string | undefined, options: SharedOptions) => {
      if (action === undefined) list(options);
      else show(name, options);
    });
}

function list(options: SharedOptions): void {
  const rows = Object.values(catalogue).map(({ rules }) => describeProvider(rules));
  printRows(options, rows, () =>
    tableText(
      ["name", "provider", "batch", "sends again", "signature shown by"],
      rows.map(({ name, title, batch, retries, proof }) => [name, title, batch, retries ? "yes" : "no", proof]),
    ),
  );
}

function show(name: string | undefined, options: SharedOptions): void {
  const found = Object.values(catalogue).find((provider) => provider.name === name);
  if (found === undefined) {
    throw new TypeError(`Cannot show provider "${name ?? ""}": there is none of this name; see counterfoil providers`);
  }
  const description = describeProvider(found.rules);
  printResult(options, description, () => recordText(fieldsOf(description)));
}

function fieldsOf({ unconfirmed, volatile, samples, ...description }: ProviderDescription): Record<string, string> {
  const { ackMs, redeliveryMs, retries, bodyBytesMax, ...texts } = description;
  return {
    ...texts,
    "waits for an answer": spanText(ackMs),
    "sends again": `${retries ? "yes" : "no"}; up to ${spanText(redeliveryMs)} after the event`,
    "largest body": `${bodyBytesMax} bytes`,
    "may change": volatile.join(", "),
    samples: samples.join(", "),
    ...Object.fromEntries(Object.entries(unconfirmed).map(([field, text]) => [`unconfirmed: ${field}`, text])),
  };
}
