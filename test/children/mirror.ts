/** A process of its own that takes states of resources into a shared file. */
import { connect, defineApp, resource, type } from "counterfoil";
import { answerParent } from "../../src/testing/child.ts";
import { caseSecret, sender, signedEvent } from "../support/case-delivery.ts";
import { storeAt } from "../support/engine.ts";

const subscription = resource("subscription", { state: type<{ status: string }>() });

interface Change {
  readonly resource: string;
  readonly revision: number;
  readonly status: string;
}

const changed = sender.on("changed", async ({ event, snapshot }) => {
  const { resource: id, revision, status } = event.data as Change;
  await snapshot(subscription, { id, revision, state: { status } });
});

const app = defineApp({
  store: storeAt(process.argv[2] ?? ""),
  connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] })],
  effects: [],
  limits: { queueMs: 30_000, lockMs: 30_000 },
});

answerParent({
  receive: async (input) => {
    const { id, resource: of, revision } = input as { id: string; resource: string; revision: number };
    const data = { resource: of, revision, status: `status of ${revision}` };
    return (await app.receive("sender", signedEvent(id, data))).outcome;
  },
});
