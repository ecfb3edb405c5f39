import { Argument, type Command } from "commander";
import type { Resolution } from "../../operator/resolve.ts";
import { actOnReceipt, receiptCommand, type ReceiptOptions } from "../act-command.ts";

const choices: readonly Resolution[] = ["keep", "take", "refresh", "acknowledge"];

export function resolveCommand(): Command {
  return receiptCommand({
    name: "resolve",
    summary: "Decide what the machine cannot: a conflict, or a mismatch",
    details:
      "keep closes the event without its handler; take runs it and takes its content although the revision is known; " +
      "refresh asks the source, where a fetch is declared, and lets that decide; acknowledge takes the event's mismatches off the list and decides nothing else.",
    examples: [
      "resolve 1042 keep --why 'the provider sent it twice'",
      "resolve 1042 take",
      "resolve 1042 refresh",
      "resolve 1042 acknowledge",
    ],
  })
    .addArgument(new Argument("<choice>", "what you decide").choices(choices))
    .action((receiptId: number, choice: Resolution, options: ReceiptOptions) =>
      actOnReceipt("resolve", { receiptId, options }, (operator, target) => operator.resolve({ ...target, choice })),
    );
}
