/** What must compile with full inference, and what must not. Checked by the compiler alone. */
import {
  connect,
  effect,
  type Event,
  type HandlerContext,
  type Operation,
  type Owe,
  type SnapshotInput,
  type Tx,
  resource,
  type as shape,
} from "counterfoil";
import { github, stripe } from "counterfoil/providers";
import * as v from "valibot";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const yes = <T extends true>(): void => void (0 as unknown as T);

const ship = effect("ship/v1", {
  input: v.object({ order: v.string() }),
  answer: v.object({ id: v.string() }),
  request: (operation) => {
    yes<Same<typeof operation.input, { order: string }>>();
    // @ts-expect-error the request is frozen, and its key may be renewed
    void operation.wireKey;
    return { method: "POST", url: "https://carrier.example", json: operation.input };
  },
  headers: async (operation) => {
    yes<Same<typeof operation, Operation<{ order: string }>>>();
    return { authorization: `Bearer ${operation.tenant} ${operation.wireKey}` };
  },
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
  lookup: {
    get: (operation) => operation.input.order,
    answer: v.object({ shipments: v.array(v.object({ id: v.string() })) }),
    found: (json) => {
      yes<Same<typeof json, { shipments: { id: string }[] }>>();
      return json.shipments[0];
    },
  },
  settled: ({ operation, result }) => {
    yes<Same<typeof operation.input, { order: string }>>();
    yes<Same<typeof result.answer, { id: string }>>();
  },
});

declare const maybeToken: string | undefined;
const request = () => ({ method: "POST", url: "https://a.example" }) as const;
effect("mail/v1", {
  input: shape<{ to: string }>(),
  request,
  idempotency: "none",
  headers: () => ({ authorization: "Bearer t" }),
  settled: ({ result }) => yes<Same<typeof result.answer, unknown>>(),
});
effect("mail/v2", {
  input: shape<{ to: string }>(),
  request,
  idempotency: "none",
  // @ts-expect-error a token that may be missing
  headers: () => ({ authorization: maybeToken }),
});
// @ts-expect-error a name without a version
effect("ship", { input: shape<{ a: string }>(), request, idempotency: "none" });
// @ts-expect-error a lifetime without its unit
effect("ship/v2", { input: shape<{ a: string }>(), request, idempotency: { header: "k", keyLifetime: "24" } });
effect("ship/v3", {
  input: shape<{ a: string }>(),
  answer: shape<{ id: string }>(),
  request,
  idempotency: "none",
  // @ts-expect-error the lookup must give the answer that settled reads, not a boolean
  lookup: { get: () => "", answer: shape<{ shipments: string[] }>(), found: (json) => json.shipments.length > 0 },
});

export async function handlers(
  owe: Owe,
  tx: Tx,
  context: HandlerContext<Event>,
  maybe: string | undefined,
): Promise<void> {
  await owe(ship, { key: ["1", "fulfil", "v1"], input: { order: "1" } });
  // @ts-expect-error wrong input
  await owe(ship, { key: ["1"], input: { order: 1 } });
  // @ts-expect-error excess input
  await owe(ship, { key: ["1"], input: { order: "1", x: 1 } });
  // @ts-expect-error an empty key
  await owe(ship, { key: [], input: { order: "1" } });
  // @ts-expect-error undefined in a key
  await owe(ship, { key: [maybe, "fulfil"], input: { order: "1" } });
  // @ts-expect-error undefined as a parameter
  await tx.sql`SELECT ${maybe}`;
  // @ts-expect-error undefined in a name
  context.waitFor("order", maybe);
  const [row] = await tx.sql<{ status: string }>`SELECT status FROM orders`;
  yes<Same<typeof row, { status: string } | undefined>>();

  const project = resource("project", { state: v.object({ status: v.string() }) });
  await context.snapshot(project, { id: "p1", revision: 1, state: { status: "done" } });
  await context.snapshot(project, { id: "p1", revision: 2n, deleted: true });
  // @ts-expect-error another state
  await context.snapshot(project, { id: "p1", revision: 1, state: { status: 1 } });
  // @ts-expect-error a timestamp is no revision
  const bad: SnapshotInput<{ status: string }> = { id: "p1", revision: new Date(), state: { status: "done" } };
  void bad;
}

const paid = stripe.on("payment_intent.succeeded", ({ event }) => {
  yes<Same<typeof event.type, "payment_intent.succeeded">>();
});
const pushed = github.on("push", () => {});
connect("s", { provider: stripe, secrets: [process.env["X"]], tenant: "a", handlers: [paid] });
connect("s", { provider: stripe, secrets: ["x"], tenant: (account) => (account === "" ? "a" : null), handlers: [] });
// @ts-expect-error another provider's handler
connect("s", { provider: stripe, secrets: ["x"], tenant: "a", handlers: [paid, pushed] });
// @ts-expect-error another provider's handler
connect("s", { provider: github, secrets: ["x"], tenant: "a", handlers: [paid] });
