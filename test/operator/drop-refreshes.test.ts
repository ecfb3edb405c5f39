/** Refreshes of a kind that no code asks for any more: counted, then taken back. */
import { connect, resource, type } from "counterfoil";
import { expect, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, sender, signedEvent, startCase } from "../support/case-server.ts";

const hour = 3_600_000;
const none = { changed: 0, unchanged: 0, refused: 0, refusals: [] };

const customer = resource("customer", {
  state: type<{ email: string }>(),
  fetch: { get: ({ id }) => `https://source.example/customers/${id}`, found: () => ({ state: { email: "" } }) },
});
const invoice = resource("invoice", {
  state: type<{ total: number }>(),
  fetch: { get: ({ id }) => `https://source.example/invoices/${id}`, found: () => ({ state: { total: 0 } }) },
});
const changed = sender.on("changed", async ({ event, refresh }) => {
  await refresh(customer, { id: event.id });
  await refresh(invoice, { id: event.id });
});

test("what nobody asks for any more is counted, and taken back with an audit row each", async () => {
  const clock = new VirtualClock({ wallMs: Date.now() });
  const common = { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] };
  const server = await startCase({
    connections: [connect("sender", common), connect("second", common)],
    resources: [customer, invoice],
    clock,
  });
  for (const id of ["evt-1", "evt-2"]) await server.post(signedEvent(id));
  await server.post(signedEvent("evt-3"), "second");
  clock.advance(hour + 1);
  const operator = server.app.operator({ who: "ada" });
  const untaken = async (): Promise<readonly string[]> =>
    (await operator.attention()).flatMap((item) => (item.kind === "resource" ? [item.resource] : []));
  expect(await untaken()).toEqual(["customer", "invoice"]);

  const drop = { action: "drop", where: { kind: "customer" } } as const;
  expect(await operator.bulk({ ...drop, dryRun: true })).toEqual({ ...none, matched: 3 });
  expect(await operator.refreshes()).toHaveLength(6);
  const second = { ...drop, where: { ...drop.where, connection: "second" } };
  expect(await operator.bulk({ ...second, why: "moved" })).toEqual({ ...none, matched: 1, changed: 1 });
  expect(await operator.bulk(drop)).toEqual({ ...none, matched: 2, changed: 2 });
  expect(await operator.bulk(drop)).toEqual({ ...none, matched: 0 });
  expect(await untaken()).toEqual(["invoice"]);
  expect((await operator.refreshes()).map(({ kind }) => kind)).toEqual(["invoice", "invoice", "invoice"]);
  const told = server.events.filter((event) => event.kind === "operator.acted" && event.action === "drop");
  expect(told).toHaveLength(3);

  await server.post(signedEvent("evt-4"));
  expect((await operator.refreshes()).filter(({ kind }) => kind === "customer")).toMatchObject([{ id: "evt-4" }]);
});
