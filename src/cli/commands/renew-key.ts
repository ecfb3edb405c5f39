import type { Command } from "commander";
import { actOnObligation, obligationCommand, type ObligationOptions } from "../act-command.ts";

export function renewKeyCommand(): Command {
  return obligationCommand({
    name: "renew-key",
    summary: "Send again under a new idempotency key",
    details: "Can be a second effect: only after a lookup said absent, or with --confirm.",
    examples: [
      "renew-key acme order-1/fulfil/v1",
      "renew-key acme order-1/fulfil/v1 --confirm --why 'the carrier found no shipment'",
    ],
  })
    .option("--confirm", "you know that the earlier call did not take effect")
    .action((tenant: string, key: string, options: ObligationOptions & { readonly confirm?: boolean }) =>
      actOnObligation("renew-key", { tenant, key, options }, (operator, target) =>
        operator.renewKey({ ...target, confirm: options.confirm ?? false }),
      ),
    );
}
