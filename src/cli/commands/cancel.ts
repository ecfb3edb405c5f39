import type { Command } from "commander";
import { actOnObligation, obligationCommand, type ObligationOptions } from "../act-command.ts";

export function cancelCommand(): Command {
  return obligationCommand(
    {
      name: "cancel",
      summary: "Give an obligation up",
      details: "A call that runs is not stopped; what it learns is kept on its attempt.",
      examples: ["cancel acme order-1/fulfil/v1 --reason 'the customer withdrew the order'"],
    },
    { why: false },
  )
    .requiredOption("--reason <text>", "why nothing more is owed, for the audit")
    .action((tenant: string, key: string, options: ObligationOptions & { readonly reason: string }) =>
      actOnObligation("cancel", { tenant, key, options }, (operator, target) =>
        operator.cancel({ ...target, reason: options.reason }),
      ),
    );
}
