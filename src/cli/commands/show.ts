import type { Command } from "commander";
import type { Operator } from "../../operator/operator.ts";
import { baseCommand, type SharedOptions, withOperator } from "../base-command.ts";
import { obligationReport } from "../obligation-report.ts";
import { printResult } from "../output.ts";
import { receiptReport } from "../receipt-report.ts";
import type { Report } from "../report.ts";

interface ShowOptions extends SharedOptions {
  readonly payload?: boolean;
}

export function showCommand(): Command {
  return baseCommand({
    name: "show",
    summary: "Show one event or one obligation, with its history and what happens next",
    details: "Name an event by the number of its receipt, an obligation by its tenant and operation key.",
    examples: ["show 1042", "show 1042 --payload", "show acme order-1/fulfil/v1 --json"],
  })
    .argument("<receipt|tenant>", "number of a receipt, or the tenant of an obligation")
    .argument("[key]", "operation key of an obligation")
    .option("--payload", "show stored bytes too: signed body, request, answer")
    .action(async (subject: string, key: string | undefined, options: ShowOptions) => {
      if (key === undefined && !/^\d+$/.test(subject)) {
        throw new TypeError(
          `Cannot show "${subject}": name a receipt by its number, an obligation by its tenant and key`,
        );
      }
      const report = await withOperator(options, (operator) =>
        key === undefined
          ? ofReceipt(operator, Number(subject), options)
          : ofObligation(operator, [subject, key], options),
      );
      printResult(options, report.json, () => report.text);
    });
}

async function ofReceipt(operator: Operator, receiptId: number, { payload = false }: ShowOptions): Promise<Report> {
  const report = await operator.receipt(receiptId);
  return receiptReport(report, payload ? await operator.payload(receiptId) : null);
}

async function ofObligation(
  operator: Operator,
  [tenant, key]: readonly [string, string],
  options: ShowOptions,
): Promise<Report> {
  return obligationReport(await operator.obligation(tenant, key), options.payload ?? false);
}
