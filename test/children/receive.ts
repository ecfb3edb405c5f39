/** A process of its own that receives what its parent gives it. */
import { answerParent } from "../../src/testing/child.ts";
import { orderApp, payment } from "../support/order-app.ts";

const app = orderApp(process.argv[2] ?? "", { limits: { queueMs: 30_000, lockMs: 30_000 } });
await app.open();

answerParent({
  /** Several copies of the payment of one order at once; gives how many were told what. */
  copies: async (input) => {
    const { order, count } = input as { order: string; count: number };
    const told: Record<string, number> = {};
    const receive = async (): Promise<void> => {
      const { outcome, duplicate } = await app.receive("stripe", payment(`evt-${order}`, order));
      const answer = duplicate ? `duplicate of ${outcome}` : outcome;
      told[answer] = (told[answer] ?? 0) + 1;
    };
    await Promise.all(Array.from({ length: count }, receive));
    return told;
  },
  receive: async (eventId) => {
    const { outcome, duplicate } = await app.receive("stripe", payment(String(eventId)));
    return { outcome, duplicate };
  },
});
