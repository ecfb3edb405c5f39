import { Argument, type Command, Option } from "commander";
import { obligationStates } from "../../domain/obligation.ts";
import { finalOutcomes, openOutcomes } from "../../domain/outcome.ts";
import { baseCommand, type SharedOptions, wholeNumber, withOperator } from "../base-command.ts";
import { type ListFilter, type Listing, listings, type ListOptions } from "../listings.ts";
import { printRows } from "../output.ts";
import type { ShownRecord } from "../records.ts";
import { rowsText } from "../report.ts";

const filters: readonly ListFilter[] = [
  "connection",
  "event",
  "outcome",
  "tenant",
  "effect",
  "key",
  "state",
  "before",
  "after",
];

export function listCommand(): Command {
  return baseCommand({
    name: "list",
    summary:
      "List what needs you, events, obligations, or refused deliveries, the newest first, or refreshes by resource",
    details:
      "With --json, one object on each line. A page goes on behind its last row: --before takes the id of an event or " +
      "obligation, --after the cursor of what needs you, or of a refresh.",
    examples: [
      "list attention",
      "list receipts --connection stripe --outcome refused --limit 20",
      "list obligations --tenant acme --key order-1/ --json",
      "list stuck",
    ],
  })
    .addArgument(new Argument("<kind>", "what to list").choices(Object.keys(listings)))
    .option("--connection <id>", "receipts, refreshes: of this connection")
    .option("--event <id>", "receipts: with this event id")
    .addOption(
      new Option("--outcome <outcome>", "receipts: with this outcome").choices([...openOutcomes, ...finalOutcomes]),
    )
    .option("--tenant <tenant>", "obligations: of this tenant")
    .option("--effect <name>", "obligations: of this effect, such as ship/v1")
    .option("--key <start>", "obligations: whose operation key starts so")
    .addOption(new Option("--state <state>", "obligations: in this state").choices(obligationStates))
    .option("--limit <rows>", "at most so many rows", wholeNumber, 50)
    .option("--before <id>", "receipts, obligations: older than this number, for the next page", wholeNumber)
    .option("--after <cursor>", "attention, refreshes: behind the row with this cursor, for the next page")
    .action(async (kind: string, options: SharedOptions & ListOptions, command: Command) => {
      const listing = listings[kind] as Listing;
      const stray = filters.find((name) => options[name] !== undefined && !listing.filters.includes(name));
      if (stray !== undefined) command.error(`error: option --${stray} does not fit list ${kind}`);
      const rows = await withOperator(options, (operator) => listing.read(operator, options));
      printRows(options, rows, () =>
        rows.length === 0 ? `No ${kind}.` : rowsText(listing.columns, rows) + moreText(listing, rows, options),
      );
    });
}

/** A full page says how to ask for the next. */
function moreText({ next }: Listing, rows: readonly ShownRecord[], { limit }: ListOptions): string {
  if (next === undefined || rows.length < limit) return "";
  const [option, field] = next;
  return `\n\nThere may be more: the same with --${option} ${rows.at(-1)?.[field]}`;
}
