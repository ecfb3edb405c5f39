import type { Command } from "commander";
import { actOnObligation, obligationCommand, type ObligationOptions } from "../act-command.ts";

export function retryCommand(): Command {
  return obligationCommand({
    name: "retry",
    summary: "Make a waiting or stuck obligation due now, with new budgets",
    details:
      "Refused where a repeat could be a second effect. A settled hook that failed runs again; nothing is sent then.",
    examples: ["retry acme order-1/fulfil/v1 --why 'the carrier is up again'"],
  }).action((tenant: string, key: string, options: ObligationOptions) =>
    actOnObligation("retry", { tenant, key, options }, (operator, target) => operator.retry(target)),
  );
}
