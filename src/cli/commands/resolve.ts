import { Argument, type Command } from "commander";
import type { Resolution } from "../../operator/resolve.ts";
import { actOnReceipt, receiptCommand, type ReceiptOptions } from "../act-command.ts";

const choices: readonly Resolution[] = ["keep", "take", "refresh", "acknowledge"];

export function resolveCommand(): Command {
  return receiptCommand({
    name: "resolve",
    summary: "Decide what the machine cannot: a conflict, or a mismatch",
    details:
      "keep, for any event that is open (queued, parked, held, suspect, quarantined, conflict): closes it without its handler. " +
      "take, for a conflict: runs the handler and takes its content although the revision is known. " +
      "refresh, for a conflict of a resource with a fetch: asks the source, and lets that decide. " +
      "acknowledge, for an event that other contents came under the id of: takes these mismatches off the list and decides nothing else. " +
      "To run the handler of an event that is not in conflict: counterfoil apply.",
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
