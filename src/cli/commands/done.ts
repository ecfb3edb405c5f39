import { type Command, InvalidArgumentError } from "commander";
import type { Json } from "../../domain/json.ts";
import { actOnObligation, obligationCommand, type ObligationOptions } from "../act-command.ts";

interface DoneOptions extends ObligationOptions {
  readonly evidence: string;
  readonly answer?: Json;
}

export function doneCommand(): Command {
  return obligationCommand(
    {
      name: "done",
      summary: "Take your word that an operation took effect",
      details: "Nothing is sent. Where the effect has a settled hook, it runs with the answer you give.",
      examples: [
        "done acme order-1/fulfil/v1 --evidence 'carrier confirmed shipment s-77 by phone'",
        `done acme order-1/fulfil/v1 --evidence 'shipment s-77' --answer '{"id":"s-77"}'`,
      ],
    },
    { why: false },
  )
    .requiredOption("--evidence <text>", "how you know that it took effect, for the audit")
    .option("--answer <json>", "what the provider answered; must fit the effect's answer schema", jsonValue)
    .action((tenant: string, key: string, options: DoneOptions) => {
      const { evidence, answer } = options;
      return actOnObligation("done", { tenant, key, options }, (operator, target) =>
        operator.done({ ...target, evidence, answer }),
      );
    });
}

function jsonValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new InvalidArgumentError("It must be JSON.");
  }
}
