/** What must hold after every step, whatever happened: the database against the reference, and against itself before. */
import { expect } from "vitest";
import { expectNoPayload } from "./expect-no-payload.ts";
import { customers, scopes } from "./facts.ts";
import { checkObligations } from "./obligations.ts";
import { finalOutcomes, keyOf, snapshotKey } from "./reference.ts";
import { limits } from "./shop.ts";
import type { World } from "./world.ts";

const everything = { limit: 500 };

export async function checkInvariants(world: World): Promise<void> {
  expect(world.telemetry.problems, "what the processes tell").toEqual([]);
  expect(world.carriers.problems, "what the providers were asked").toEqual([]);
  const attention = await world.reader.attention(everything);
  const listed = {
    receipts: new Map(
      attention.flatMap((item) => (item.kind === "receipt" ? [[item.receipt.id, item.mismatches]] : [])),
    ),
    obligations: new Set(attention.flatMap((item) => (item.kind === "obligation" ? [item.obligation.id] : []))),
  };
  await checkReceipts(world, listed.receipts);
  await checkState(world);
  await checkObligations(world, listed.obligations);
}

/** Each event has one receipt with the reference's outcome; an open one is due or an operator's. */
async function checkReceipts({ reader, reference }: World, listed: ReadonlyMap<number, number>): Promise<void> {
  const receipts = await reader.receipts({}, everything);
  const found = receipts.map(({ id, tenant, outcome, deliveries, ...key }) =>
    [keyOf(key, key.eventId), tenant, outcome, deliveries, listed.get(id) ?? 0].join(" "),
  );
  const expected = [...reference.receipts].map(([key, { scope, outcome, deliveries, open }]) =>
    [key, scope.tenant ?? "", outcome, deliveries, open.size].join(" "),
  );
  expect(found.sort(), "receipts: key, tenant, outcome, deliveries, open mismatches").toEqual(expected.sort());
  for (const { fact, scope, eventId, outcome } of reference.receipts.values()) {
    const isThere = fact.type === "order.paid" && reference.orders.has(`${scope.tenant}|${fact.order}`);
    if (outcome === "parked") expect(isThere, `${eventId} waits for what is there`).toBe(false);
  }
  for (const { id, eventId, outcome, dueAt, reason, tries } of receipts) {
    const isSeen = (finalOutcomes as readonly string[]).includes(outcome) || dueAt !== null || listed.has(id);
    expect(isSeen, `${eventId} is ${outcome} and nobody sees it`).toBe(true);
    const isSpent = outcome !== "held" || dueAt !== null || tries >= limits.heldTriesMax;
    expect(isSpent, `${eventId} is held, and given up after ${tries} tries`).toBe(true);
    expectNoPayload(reason, `the reason of ${eventId}`);
  }
}

/** Orders and snapshots are what the reference says, in the engine's rows and in the application's. */
async function checkState({ observer, reader, reference }: World): Promise<void> {
  const [orders, rows] = await observer.app.transaction({ tenant: "north" }, async ({ tx }) => [
    await tx.sql<{ tenant: string; id: string; status: string }>`SELECT tenant, id, status FROM orders`,
    await tx.sql<{ connection: string; account: string; id: string; revision: string; email: string | null }>`
      SELECT connection, account, id, revision, email FROM customers`,
  ]);
  expect(Object.fromEntries(orders.map(({ tenant, id, status }) => [`${tenant}|${id}`, status])), "orders").toEqual(
    Object.fromEntries([...reference.orders].map(([key, { status }]) => [key, status])),
  );
  const kept = Object.fromEntries(
    [...reference.snapshots].map(([key, { revision, email }]) => [key, [String(revision), email]]),
  );
  const mirrored = rows.map(({ id, revision, email, ...scope }) => [snapshotKey(scope, id), [revision, email]]);
  expect(Object.fromEntries(mirrored), "the application's customers").toEqual(kept);
  const snapshots = [];
  for (const scope of scopes) {
    for (const id of customers) {
      const found = await reader.snapshot({ ...scope, kind: "customer", id });
      if (found) snapshots.push([snapshotKey(scope, id), [found.revision, emailOf(found.state)]]);
    }
  }
  expect(Object.fromEntries(snapshots), "snapshots").toEqual(kept);
}

function emailOf(state: string | null): string | null {
  return state === null ? null : (JSON.parse(state) as { readonly email: string }).email;
}
