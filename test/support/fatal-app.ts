import { type App, connect, defineApp } from "counterfoil";
import type { Clock } from "../../src/domain/clock.ts";
import { caseSecret, sender } from "./case-delivery.ts";
import { storeAt } from "./engine.ts";

export interface FatalAppOptions {
  readonly address: string;
  readonly clock?: Clock;
  /** Called within the handler. */
  readonly ran: (id: string) => void;
}

/** Keeps events and applies them later; three lost workers in a row are too many. */
export function fatalApp({ address, clock, ran }: FatalAppOptions): App {
  const changed = sender.on("changed", async ({ event, tx }) => {
    await tx.sql`INSERT INTO seen VALUES (${event.id})`;
    ran(event.id);
  });
  return defineApp({
    store: storeAt(address, { clock }),
    connections: [
      connect("sender", {
        provider: sender,
        secrets: [caseSecret],
        tenant: "acme",
        handlers: [changed],
        apply: "later",
      }),
    ],
    effects: [],
    limits: { queueMs: 30_000, lockMs: 30_000, crashesMax: 3 },
    ...(clock && { testing: { clock } }),
  });
}
