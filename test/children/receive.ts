/** A process of its own that receives what its parent gives it. */
import { answerParent } from "../../src/testing/child.ts";
import { orderApp, payment } from "../support/order-app.ts";

const app = orderApp(process.argv[2] ?? "", { limits: { lockMs: 30_000 } });
await app.open();

answerParent({
  receive: async (eventId) => {
    const { outcome, duplicate } = await app.receive("stripe", payment(String(eventId)));
    return { outcome, duplicate };
  },
});
