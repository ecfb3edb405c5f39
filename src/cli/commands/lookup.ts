import type { Command } from "commander";
import { actOnObligation, obligationCommand, type ObligationOptions } from "../act-command.ts";

export function lookupCommand(): Command {
  return obligationCommand({
    name: "lookup",
    summary: "Ask the provider now whether an operation took effect",
    details: "A running worker does it: found settles the obligation, absent sends it again.",
    examples: ["lookup acme order-1/fulfil/v1"],
  }).action((tenant: string, key: string, options: ObligationOptions) =>
    actOnObligation("lookup", { tenant, key, options }, (operator, target) => operator.lookup(target)),
  );
}
