/** A receiver that ends by SIGKILL the instant it has flushed its answer. */
import { answerParent } from "../../src/testing/child.ts";
import { orderApp } from "../support/order-app.ts";

const app = orderApp(process.argv[2] ?? "", {
  limits: { lockMs: 30_000 },
  probe: (point) => void (point === "receive:answered" && process.kill(process.pid, "SIGKILL")),
});

answerParent({ listen: async () => (await app.listen({ port: 0 })).port });
