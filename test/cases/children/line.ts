/** A process that receives and works in lines of a shared database; each event fails the first time it is tried. */
import { connect, defineApp } from "counterfoil";
import { answerParent } from "../../../src/testing/child.ts";
import { caseSecret, sender, signedEvent } from "../../support/case-delivery.ts";
import { storeAt } from "../../support/engine.ts";

interface Change {
  readonly of: string;
  readonly n: number;
}

const tried = new Set<string>();

const changed = sender.on("changed", async ({ event, tx }) => {
  const { of, n } = event.data as Change;
  // Every third one is held first, so that the next ones have something to stand behind.
  if (n % 3 === 1 && !tried.has(event.id)) {
    tried.add(event.id);
    throw new Error("The handler fails the first time in this process");
  }
  await tx.sql`INSERT INTO log VALUES (${of}, ${n})`;
});

const app = defineApp({
  store: storeAt(process.argv[2] ?? ""),
  connections: [
    connect("sender", {
      provider: sender,
      secrets: [caseSecret],
      tenant: "acme",
      handlers: [changed],
      order: ({ data }) => (data as Change).of,
    }),
  ],
  effects: [],
  limits: { queueMs: 30_000, lockMs: 30_000, heldFirstMs: 20, heldMaxMs: 50, pollMs: 20 },
});

answerParent({
  work: async () => {
    await app.start({ roles: ["worker"] });
    return null;
  },
  receive: async (input) => {
    const { of, n } = input as unknown as Change;
    const { headers, body } = signedEvent(`${of}-${n}`, { of, n });
    const request = new Request("http://localhost/hooks/sender", {
      method: "POST",
      headers: { ...headers, "content-length": String(body.length) },
      body: new Uint8Array(body),
    });
    return (await app.fetch(request)).status;
  },
});
