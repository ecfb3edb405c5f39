/** An operator at an office: one order owed, and whatever became of it. */
import { expect, onTestFinished } from "vitest";
import { Operator } from "../../src/operator/operator.ts";
import type { Fault } from "../../src/testing/provider-fault.ts";
import { type Desk, type DeskOptions, type Office, type OfficeOptions, openOffice, tenant } from "../outbox/office.ts";
import { noConnections } from "../support/no-connections.ts";

export const hour: number = 3_600_000;
export const target: { readonly tenant: string; readonly operationKey: string } = {
  tenant,
  operationKey: "order-1/fulfil/v1",
};

export interface Counter {
  readonly office: Office;
  readonly desk: Desk;
  readonly operator: Operator;
}

/** An office with one order owed, and an operator at it. */
export async function open(
  options: OfficeOptions = {},
  make: (office: Office) => DeskOptions = () => ({}),
): Promise<Counter> {
  const office = await openOffice(options);
  onTestFinished(() => office[Symbol.asyncDispose]());
  const desk = await office.desk(make(office));
  await desk.owe("order-1");
  return { office, desk, operator: operatorAt(desk) };
}

export function operatorAt({ runtime }: Desk, who = "ada"): Operator {
  return new Operator({
    runtime,
    connections: noConnections(runtime),
    who,
  });
}

/** An obligation whose one call took effect, its answer lost, at a provider that keeps no keys. */
export async function openUncertain(withLookup = false): Promise<Counter> {
  const counter = await open({ provider: { contract: "ignores" } }, (office) => ({
    effects: [
      office.effect({ idempotency: "none", ...(withLookup && { lookup: { ...office.lookup, settleDelay: "10s" } }) }),
    ],
  }));
  counter.office.provider.failNext({ when: "after", kind: "reset" });
  await counter.desk.work();
  expect(await counter.desk.state("order-1")).toBe("uncertain");
  return counter;
}

/** A call that has no effect and this answer. */
export function answered(status: number): Fault {
  return { when: "before", kind: "answer", status };
}

/** An error with this code, whose message says this. */
export function coded(code: string, message: RegExp = /./): unknown {
  return expect.objectContaining({ code, message: expect.stringMatching(message) });
}
