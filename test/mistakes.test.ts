/** What somebody new gets wrong first, and the text that says what to do instead. */
import type { IncomingMessage } from "node:http";
import { type App, type AppOptions, connect, defineApp, effect, type HandlerContext, type } from "counterfoil";
import { stripe } from "counterfoil/providers";
import { sqlite } from "counterfoil/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../src/domain/system-clock.ts";
import { readNodeBody } from "../src/http/node-body.ts";
import { describeAttention } from "../src/operator/describe-attention.ts";
import { openOffice } from "./outbox/office.ts";

const secret = "whsec_a_secret_of_the_test_suite";
const carrier = "http://127.0.0.1:4599";

const ship = effect("ship/v1", {
  input: type<{ order: string }>(),
  request: () => ({ method: "POST", url: `${carrier}/v1/shipments` }),
  idempotency: "none",
  allow: [carrier],
});

type Body = (context: HandlerContext) => unknown;

function appOf(body: Body, more: Partial<AppOptions> = {}): App {
  const paid = stripe.on("payment_intent.succeeded", body as never);
  const app = defineApp({
    store: sqlite(":memory:"),
    connections: [connect("stripe", { provider: stripe, secrets: [secret], tenant: "acme", handlers: [paid] })],
    effects: [ship],
    ...more,
  });
  onTestFinished(() => app.stop());
  return app;
}

/** What a handler's mistake says to whoever calls `receive`. */
async function handled(body: Body): Promise<string> {
  const app = appOf(body);
  return said(() =>
    app.receive("stripe", app.trialDelivery("stripe", { id: "evt_1", type: "payment_intent.succeeded" })),
  );
}

async function said(run: () => unknown): Promise<string> {
  try {
    await run();
    return "nothing";
  } catch (error) {
    const { message, code = "no code" } = error as Error & { readonly code?: string };
    return `${code}: ${message.replace(/:\d+$/, "")}`;
  }
}

describe("in a handler", () => {
  test("await fetch", async () => {
    expect(await handled(() => fetch(`${carrier}/`).catch(() => undefined))).toMatchInlineSnapshot(
      `"HANDLER_UNFINISHED: Cannot go on with an attempt: its body waits for something other than its transaction, such as a timer, a request or another transaction; do that before or after, or owe it as an effect"`,
    );
  });

  test("a forgotten await", async () => {
    const late = handled(async ({ owe }) => {
      void owe(ship, { key: ["1", "fulfil", "v1"], input: { order: undefined as never } });
    });
    expect(await late).toMatchInlineSnapshot(
      `"HANDLER_UNFINISHED: Cannot keep this work: a call of tx, owe, withdraw, snapshot or arrived was not awaited; await each before returning"`,
    );
  });

  test("COMMIT, as an ORM or a statement says it", async () => {
    expect(await handled(({ tx }) => tx.sql`COMMIT`)).toMatchInlineSnapshot(
      `"TRANSACTION_CONTROL: Cannot run a statement: SQLite says 23 (authorization denied); leave BEGIN, COMMIT, ROLLBACK, SAVEPOINT, ATTACH, DETACH and PRAGMA to the engine"`,
    );
  });

  test("COMMIT through an ORM's handle", async () => {
    const commit: Body = ({ tx }) => (tx.native as { exec: (text: string) => void }).exec("COMMIT");
    expect(await handled(commit)).toMatchInlineSnapshot(
      `"TRANSACTION_CONTROL: Cannot commit what was not begun through the native handle: the engine owns the transaction and the connection; end on the handle what was begun on it, and nothing else"`,
    );
  });

  test("undefined in a key and in a statement", async () => {
    const missing = undefined as unknown as string;
    const inKey = handled(({ owe }) => owe(ship, { key: [missing, "fulfil", "v1"], input: { order: "1" } }));
    const inSql = handled(({ tx }) => tx.sql`SELECT ${missing}`);
    expect([await inKey, await inSql]).toMatchInlineSnapshot(`
      [
        "HANDLER_FAILED: Cannot apply event "evt_1" of type "payment_intent.succeeded": its handler failed with TypeError (Cannot build a key: part 1 is undefined, not a string; give text that names the operation, such as an order's id; where there is none, owe nothing) at mistakes.test.ts",
        "HANDLER_FAILED: Cannot apply event "evt_1" of type "payment_intent.succeeded": its handler failed with TypeError (Cannot bind value 1: it is undefined; use null for no value) at mistakes.test.ts",
      ]
    `);
  });
});

describe("in the configuration", () => {
  test("a secret that is missing", async () => {
    const connection = connect("stripe", { provider: stripe, secrets: [undefined], tenant: "acme", handlers: [] });
    expect(await said(() => appOf(() => undefined, { connections: [connection] }).start())).toMatchInlineSnapshot(
      `"CONFIG_INVALID: Cannot serve connection "stripe": Cannot use secrets: none is set; set the provider's signing secret"`,
    );
  });

  test("a handler that is registered twice", async () => {
    const paid = stripe.on("payment_intent.succeeded", () => undefined);
    const twice = connect("stripe", { provider: stripe, secrets: [secret], tenant: "acme", handlers: [paid, paid] });
    expect(await said(() => appOf(() => undefined, { connections: [twice] }))).toMatchInlineSnapshot(
      `"CONFIG_INVALID: Cannot use connection "stripe": two handlers are registered for "payment_intent.succeeded"; register one that does both"`,
    );
  });

  test("an option that there is not, of the application and of a connection", async () => {
    const mistyped = { onAtention: () => undefined } as object;
    const options = { provider: stripe, secrets: [secret], tenant: "acme", handlers: [], retries: 3 } as never;
    const texts = [
      await said(() => appOf(() => undefined, mistyped)),
      await said(() => appOf(() => undefined, { connections: [connect("stripe", options)] })),
    ];
    expect(texts).toMatchInlineSnapshot(`
      [
        "CONFIG_INVALID: Cannot use this configuration: there is no option "onAtention"; known are store, connections, effects, resources, basePath, limits, telemetry, onAttention, migrate, testing",
        "CONFIG_INVALID: Cannot use connection "stripe": there is no option "retries"; known are provider, secrets, tenant, handlers, failing, mode, missingMode, bodyBytesMax, retention, suspectWindow, silentAfter, releaseBy, publicUrl, fetchKey, authorities, handshake, apply, order",
      ]
    `);
  });
});

describe("around it", () => {
  test("a body parser in front", async () => {
    const request = { body: { id: "evt_1" } } as unknown as IncomingMessage;
    const body = { add: () => undefined, holdMore: () => undefined, bytes: () => new Uint8Array() };
    expect(
      await said(() => readNodeBody(request, { body, deadlineMs: 1, clock: systemClock() })),
    ).toMatchInlineSnapshot(
      `"BODY_ALREADY_READ: Cannot verify the delivery: a body parser in front parsed it, and the signed bytes are gone; mount the hooks before it, or use express.raw({ type: "*/*" }) on this path"`,
    );
  });

  test("an effect that is owed and that no configuration registers", async () => {
    const unregistered = effect("bill/v1", {
      input: type<{ order: string }>(),
      request: () => ({ method: "POST", url: "https://bills.example/" }),
      idempotency: "none",
    });
    const text = await handled(({ owe }) => owe(unregistered, { key: ["1", "bill", "v1"], input: { order: "1" } }));
    expect(text).toMatchInlineSnapshot(
      `"HANDLER_FAILED: Cannot apply event "evt_1" of type "payment_intent.succeeded": its handler failed with TypeError (Cannot owe "bill/v1": it is not registered; add it to effects in defineApp) at mistakes.test.ts"`,
    );
  });

  test("a lookup that throws", async () => {
    await using office = await openOffice();
    const { found: _, ...lookup } = office.lookup;
    const broken = (): never => {
      throw new TypeError("Cannot read properties of undefined");
    };
    const effects = [office.effect({ idempotency: "none", lookup: { ...lookup, found: broken } })];
    const desk = await office.desk({ effects });
    office.provider.failNext({ when: "after", kind: "reset" });
    await desk.owe("order-1");
    await desk.work();
    office.clock.advance(10_000);
    await desk.work();
    const { reason } = (await desk.see("order-1")).obligation;
    expect(reason?.replace(/:\d+;/, ";")).toMatchInlineSnapshot(
      `"found failed with TypeError at mistakes.test.ts; mend it in the effect: until it tells, nothing is sent again"`,
    );
  });

  test("an effect that is due and that no worker takes", () => {
    const item = { kind: "effect", effect: "ship/v1", dueAt: 0, cursor: "" } as const;
    expect(describeAttention(item).reason).toMatchInlineSnapshot(
      `"due since 1970-01-01T00:00:00.000Z, and no worker takes it; start one whose configuration has it"`,
    );
  });
});
