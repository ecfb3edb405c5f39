/** What an operator does. Every refusal is fine with a named code; what is done is audited, and the reference takes note. */
import { hasCode } from "../../src/domain/errors.ts";
import type { Obligation } from "../../src/domain/obligation.ts";
import type { Receipt } from "../../src/domain/receipt.ts";
import { closedStates, refOf } from "./obligations.ts";
import { observe } from "./observe.ts";
import type { Process } from "./process.ts";
import { keyOf, type ModelReceipt } from "./reference.ts";
import type { StepOf } from "./steps.ts";
import type { World } from "./world.ts";

type Verb = StepOf<"operate">["verb"];

/** Acts on an obligation, most often on one that is open. */
export async function operate(process: Process, world: World, { verb, nth }: StepOf<"operate">): Promise<void> {
  const obligations = await world.reader.obligations({}, { limit: 500 });
  const open = obligations.filter(({ state }) => !closedStates.includes(state));
  const among = open.length > 0 ? open : obligations;
  const obligation = among[nth % among.length];
  if (obligation) await act(process, world, { obligation, verb });
}

/** Acts on an obligation; `id` is what the provider is said to have called it. */
export async function act(
  process: Process,
  world: World,
  { obligation, verb, id = "said" }: { readonly obligation: Obligation; readonly verb: Verb; readonly id?: string },
): Promise<void> {
  const ref = refOf(obligation);
  const claimed = world.claimed(ref);
  const { tenant, operationKey } = obligation;
  if (!(await allowed(() => doIt(process, verb, { tenant, operationKey, id })))) return;
  const operation = world.provider.operation(ref);
  operation.actions += 1;
  if (verb === "renew") world.provider.force(ref);
  if (verb === "done") operation.said = true;
  if (verb === "cancel") world.provider.cancels(ref, claimed);
}

async function doIt(
  { app }: Process,
  verb: Verb,
  { id, ...name }: { readonly tenant: string; readonly operationKey: string; readonly id: string },
): Promise<{ readonly changed: boolean }> {
  const operator = app.operator({ who: "ada" });
  switch (verb) {
    case "retry":
      return operator.retry(name);
    case "lookup":
      return operator.lookup(name);
    case "cancel":
      return operator.cancel({ ...name, reason: "the customer called" });
    case "done":
      return operator.done({ ...name, evidence: "seen at the provider", answer: { id } });
    case "renew":
      return operator.renewKey({ ...name, confirm: true });
    default:
      return verb satisfies never;
  }
}

/** Acts on an event. */
export async function decide(process: Process, world: World, { verb, nth }: StepOf<"decide">): Promise<void> {
  const receipts = await world.reader.receipts({}, { limit: 500 });
  const receipt = receipts[nth % receipts.length];
  if (receipt) await decideOn(process, world, { receipt, verb });
}

export async function decideOn(
  { app }: Process,
  world: World,
  { receipt, verb }: { readonly receipt: Receipt; readonly verb: StepOf<"decide">["verb"] },
): Promise<void> {
  const operator = app.operator({ who: "ada" });
  const receiptId = receipt.id;
  const acted = await allowed(() => {
    if (verb === "apply") return operator.apply({ receiptId });
    return verb === "reprocess" ? operator.reprocess({ receiptId }) : operator.resolve({ receiptId, choice: verb });
  });
  await world.activity.quiet();
  observe(world, [], verb === "keep" || verb === "take" ? verb : "run");
  if (acted && verb === "acknowledge") acknowledge(world.reference.receipts.get(keyOf(receipt, receipt.eventId))!);
}

/** Contents that an operator has seen are no news when they come again. */
function acknowledge({ open, acknowledged }: ModelReceipt): void {
  for (const body of open) acknowledged.add(body);
  open.clear();
}

/** Whether an action was taken; one that does not fit, or whose handler fails, changes nothing and says so. */
async function allowed(action: () => Promise<{ readonly changed: boolean }>): Promise<boolean> {
  try {
    return (await action()).changed;
  } catch (error) {
    if (hasCode(error, "NOT_ALLOWED", "NOT_FOUND", "HANDLER_FAILED")) return false;
    throw error;
  }
}
