import type { Command } from "commander";
import { actOnReceipt, receiptCommand, type ReceiptOptions } from "../act-command.ts";

export function applyCommand(): Command {
  return receiptCommand({
    name: "apply",
    summary: "Run the handler of an event that waits: held, parked, suspect, unmapped or quarantined",
    examples: ["apply 1042", "apply 1042 --seen 3 --why 'the handler is mended'"],
  }).action((receiptId: number, options: ReceiptOptions) =>
    actOnReceipt("apply", { receiptId, options }, (operator, target) => operator.apply(target)),
  );
}
