import type { Command } from "commander";
import { actOnReceipt, receiptCommand, type ReceiptOptions } from "../act-command.ts";

export function reprocessCommand(): Command {
  return receiptCommand({
    name: "reprocess",
    summary: "Run the handler of any event whose bytes remain, through the same guards as a delivery",
    details: "What was done stays done: no operation is owed twice.",
    examples: ["reprocess 1042 --why 'a handler for its type was added'"],
  }).action((receiptId: number, options: ReceiptOptions) =>
    actOnReceipt("reprocess", { receiptId, options }, (operator, target) => operator.reprocess(target)),
  );
}
