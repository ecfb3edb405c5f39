import type { App } from "counterfoil";
import type { FakeProvider } from "counterfoil/testing";
import { expect } from "vitest";

/** What must hold in every state once nothing is owed any more, whatever was killed before. */
export async function checkInvariants(
  app: App,
  { carrier, where }: { readonly carrier: FakeProvider; readonly where: string },
): Promise<void> {
  const { reader } = app.runtime.store;
  const receipts = await reader.receipts({}, { limit: 1_000 });
  const obligations = await reader.obligations({}, { limit: 1_000 });
  const keys = receipts.map(({ connection, account, eventId }) => `${connection}/${account}/${eventId}`);
  expect(new Set(keys).size, `${where}: one receipt per event`).toBe(keys.length);
  const orders = await app.transaction({ tenant: "acme" }, async ({ tx }) => [
    ...(await tx.sql<{ id: string; status: string; tracking: string | null }>`SELECT id, status, tracking FROM orders`),
  ]);
  const paid = orders
    .filter(({ status }) => status === "paid")
    .flatMap(({ id }) =>
      (id.startsWith("lined") ? ["fulfil", "gift", "thank"] : ["fulfil"]).map((verb) => `${id}/${verb}/v1`),
    );
  expect(obligations.map(({ operationKey }) => operationKey).sort(), `${where}: what was paid is what is owed`).toEqual(
    paid.sort(),
  );
  for (const { operationKey, state, dueAt } of obligations) {
    const detail = await reader.obligation("acme", operationKey);
    const reachable =
      dueAt !== null || detail?.lease?.live === true || ["done", "stuck", "uncertain", "withdrawn"].includes(state);
    expect(reachable, `${where}: ${operationKey} is ${state} and nobody sees it`).toBe(true);
    const fences = detail?.attempts.map(({ fence }) => fence) ?? [];
    expect(new Set(fences).size, `${where}: a fence is given once`).toBe(fences.length);
  }
  for (const [ref, { effects }] of Object.entries(carrier.counts().byRef)) {
    expect(effects, `${where}: effects of ${ref}`).toBeLessThanOrEqual(1);
  }
  for (const { id, tracking } of orders) {
    const effect = carrier.effects.find(({ ref }) => ref === `acme/${id}/fulfil/v1`);
    expect(tracking, `${where}: the tracking number of ${id}`).toBe(effect?.id ?? null);
  }
}
