import type { Command } from "commander";
import type { ObligationAction } from "../operator/act-on-obligation.ts";
import type { ReceiptAction } from "../operator/act-on-receipt.ts";
import type { Acted } from "../operator/acting.ts";
import type { Operator } from "../operator/operator.ts";
import {
  type ActingOptions,
  acting,
  baseCommand,
  type CommandText,
  wholeNumber,
  withOperator,
} from "./base-command.ts";
import { inertText } from "./inert-text.ts";
import { printResult } from "./output.ts";

export interface ObligationOptions extends ActingOptions {
  readonly fence?: number;
}

/** A command about one obligation, named by tenant and operation key; `actOnObligation` is its action. */
export function obligationCommand(text: CommandText, options: { readonly why?: boolean } = {}): Command {
  return acting(baseCommand(text), options)
    .argument("<tenant>", "whose obligation")
    .argument("<key>", "its operation key, such as order-1/fulfil/v1")
    .option("--fence <number>", "the fence you saw: refused if it has changed since", wholeNumber);
}

/** Acts on the obligation that a command names, and prints what it did. */
export async function actOnObligation(
  action: string,
  { tenant, key, options }: { readonly tenant: string; readonly key: string; readonly options: ObligationOptions },
  act: (operator: Operator, target: ObligationAction) => Promise<Acted>,
): Promise<void> {
  const target = { tenant, operationKey: key, fence: options.fence, why: options.why };
  const acted = await withOperator(options, (operator) => act(operator, target));
  printActed(options, { action, tenant, operationKey: key }, acted);
}

export interface ReceiptOptions extends ActingOptions {
  readonly seen?: number;
}

/** A command about one event, named by the number of its receipt; `actOnReceipt` is its action. */
export function receiptCommand(text: CommandText): Command {
  return acting(baseCommand(text))
    .argument("<receipt>", "its number, of counterfoil list receipts", wholeNumber)
    .option("--seen <version>", "the version you saw: refused if it has changed since", wholeNumber);
}

/** Acts on the event that a command names, and prints what it did. */
export async function actOnReceipt(
  action: string,
  { receiptId, options }: { readonly receiptId: number; readonly options: ReceiptOptions },
  act: (operator: Operator, target: ReceiptAction) => Promise<Acted>,
): Promise<void> {
  const target = { receiptId, version: options.seen, why: options.why };
  const acted = await withOperator(options, (operator) => act(operator, target));
  printActed(options, { action, receiptId }, acted);
}

/** Prints what an action did, or that there was nothing to do. */
export function printActed(options: ActingOptions, target: object, { changed, says }: Acted): void {
  printResult(options, { ...target, changed, says }, () => `${changed ? "" : "Nothing to do. "}${inertText(says)}.`);
}
