import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import type { Json } from "../../domain/json.ts";
import { actOnObligation, obligationCommand, type ObligationOptions } from "../act-command.ts";

interface AmendOptions extends ObligationOptions {
  readonly body?: Json;
  readonly url?: string;
}

export function amendCommand(): Command {
  return obligationCommand({
    name: "amend",
    summary: "Replace a wrong request by the right one, under the same operation key",
    details:
      "Only where nothing can have reached the provider, or a lookup said absent. It goes out under a new idempotency key. " +
      "Of an effect that a function sends, the body is its input.",
    examples: [
      "amend acme order-1/fulfil/v1 --body right.json --why 'the street was misspelt'",
      "amend acme order-1/fulfil/v1 --url https://carrier.example/v2/shipments",
    ],
  })
    .option("--body <file>", "the whole new body, a file of JSON", jsonFile)
    .option("--url <url>", "the new URL, of the same origin")
    .action((tenant: string, key: string, options: AmendOptions) => {
      const { body: json, url } = options;
      return actOnObligation("amend", { tenant, key, options }, (operator, target) =>
        operator.amend({ ...target, json, url }),
      );
    });
}

function jsonFile(path: string): Json {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Json;
  } catch {
    throw new InvalidArgumentError("It must be a file of JSON.");
  }
}
