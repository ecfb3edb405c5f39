/**
 * No secret and no payload gets out: a canary in every place that holds one, every path that fails,
 * and a look at everything that Counterfoil says, answers, or keeps to show.
 */
import {
  type App,
  connect,
  defineApp,
  effect,
  jsonLogger,
  Metrics,
  type Schema,
  type TelemetryEvent,
  type,
} from "counterfoil";
import { stripe } from "counterfoil/providers";
import { expect, onTestFinished, test } from "vitest";
import { obligationReport } from "../../src/cli/obligation-report.ts";
import { receiptReport } from "../../src/cli/receipt-report.ts";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { storeAt } from "../support/engine.ts";
import { ownDatabase } from "../support/own-database.ts";

const canary = (place: string): string => `canary-${place}`;
const secret = canary("secret-of-the-connection");

/** A schema whose issues quote what they refuse, as schemas do. */
const stringIds: Schema<{ readonly id: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value: unknown) =>
      typeof (value as { readonly id?: unknown }).id === "string"
        ? { value }
        : { issues: [{ message: `not a string: ${JSON.stringify(value)}`, path: ["id"] }] },
  },
};

interface Watched {
  readonly app: App;
  readonly heard: string[];
  readonly events: TelemetryEvent[];
  readonly metrics: Metrics;
}

/** An application whose every answer, line and row is looked at. */
async function openApp(): Promise<Watched> {
  const database = await ownDatabase();
  const carrier = await startFakeProvider();
  const clock = new VirtualClock({ wallMs: Date.now() });
  const heard: string[] = [];
  const events: TelemetryEvent[] = [];
  const metrics = new Metrics();
  const faults = {
    permanent: { when: "before", kind: "answer", status: 422, body: canary("error-body") },
    again: {
      when: "before",
      kind: "answer",
      status: 503,
      body: canary("error-body"),
      headers: { "x-hint": canary("answer-header") },
    },
    lost: { when: "after", kind: "reset" },
    unfit: { when: "after", kind: "answer", status: 200, body: `{"id":["${canary("answer")}"]}` },
  } as const;
  carrier.failWhen(({ method, body }) => {
    if (method === "GET") return { when: "before", kind: "answer", status: 500, body: canary("lookup-body") };
    return Object.entries(faults).find(([name]) => body.includes(`order-${name}`))?.[1];
  });
  const ship = effect("ship/v1", {
    input: type<{ order: string; address: string }>(),
    answer: stringIds,
    request: ({ input }) => ({
      method: "POST",
      url: `${carrier.url}/v1/shipments?token=${canary("query")}`,
      json: input,
    }),
    headers: () => ({ authorization: `Bearer ${canary("token")}` }),
    idempotency: "none",
    lookup: {
      get: () => `${carrier.url}/v1/shipments?ref=${canary("lookup-query")}`,
      found: () => undefined,
    },
    settled: () => {
      throw new TypeError(canary("hook-message"));
    },
    allow: [carrier.url],
    attemptsMax: 2,
  });
  const paid = stripe.on("payment_intent.succeeded", async ({ event, owe, waitFor, refuse }) => {
    const { order = "", address = "" } = event.data.object.metadata;
    if (order === "order-throws") {
      throw Object.assign(new RangeError(canary("handler-message")), { detail: canary("detail") });
    }
    if (order === "order-waits") return waitFor("order", "1");
    if (order === "order-refused") return refuse("not awaited");
    await owe(ship, { key: [order, "fulfil", "v1"], input: { order, address } });
  });
  const app = defineApp({
    store: storeAt(database.address, { clock }),
    connections: [connect("stripe", { provider: stripe, secrets: [secret], tenant: "acme", handlers: [paid] })],
    effects: [ship],
    limits: { hookTriesMax: 2, lookupsMax: 2, settleDelayMs: 0 },
    telemetry: [
      jsonLogger({ level: "trace", destination: { write: (line) => void heard.push(line) } }),
      metrics.emit,
      (event) => void events.push(event),
    ],
    testing: { clock },
  });
  onTestFinished(async () => {
    await app.stop();
    await carrier.close();
  });
  return { app, heard, events, metrics };
}

/** Delivers over HTTP and gives the answer's text. */
async function post(app: App, body: string, options: { readonly forged?: boolean } = {}): Promise<string> {
  const { headers } = app.trialDelivery("stripe", {
    body: Buffer.from(body),
    ...(options.forged && { secret: canary("forger") }),
  });
  const more = { ...headers, authorization: `Basic ${canary("authorization")}`, "x-custom": canary("custom-header") };
  const response = await app.fetch(
    new Request("http://localhost/hooks/stripe", { method: "POST", headers: more, body }),
  );
  return `${response.status} ${await response.text()}`;
}

function payment(id: string, order: string, address = canary("address")): string {
  const data = { object: { metadata: { order, address } } };
  return JSON.stringify({ id, type: "payment_intent.succeeded", data });
}

test("no canary gets into logs, metrics, answers, errors, audit rows, or what is shown without asking for payload", async () => {
  const { app, heard, events, metrics } = await openApp();
  const operator = app.operator({ who: "ada" });
  await app.open();
  const orders = ["ships", "permanent", "again", "lost", "unfit", "throws", "waits", "refused"];
  const answers: string[] = [];
  for (const order of orders) answers.push(await post(app, payment(`evt_${order}`, `order-${order}`)));
  answers.push(
    await post(app, payment("evt_ships", "order-ships", canary("other-content"))),
    await post(app, payment("evt_forged", "order-forged"), { forged: true }),
    await post(app, `{"id":"evt_twice","type":"a","type":"b","data":"${canary("unreadable")}"}`),
    await post(app, `{"id":"evt_unmapped","type":"other","data":"${canary("unmapped")}"}`),
    await post(app, `not JSON at all ${canary("not-json")}`),
  );
  const thrown = await app
    .receive("stripe", app.trialDelivery("stripe", { body: Buffer.from(payment("evt_thrown", "order-throws")) }))
    .catch(String);
  for (let round = 0; round < 3; round += 1) {
    await app.drain();
    (app.runtime.clock as VirtualClock).advance(2 * 3_600_000);
  }
  const obligations = await operator.obligations();
  const acts = obligations.flatMap(({ tenant, operationKey }) => {
    const target = { tenant, operationKey, why: "seen" };
    const unfit = { id: [canary("operator-answer")] };
    return [
      () => operator.done({ ...target, evidence: "seen", answer: unfit }),
      () => operator.retry(target),
      () => operator.lookup(target),
    ];
  });
  const receipts = await operator.receipts();
  for (const { id: receiptId } of receipts) {
    acts.push(
      () => operator.reprocess({ receiptId }),
      () => operator.resolve({ receiptId, choice: "acknowledge" }),
    );
  }
  const said: string[] = [];
  for (const act of acts) said.push(await act().then(({ says }) => says, String));

  const shown = [
    ...(await Promise.all(receipts.map(async ({ id }) => receiptReport(await operator.receipt(id), null)))),
    ...(await Promise.all(
      obligations.map(async (one) => obligationReport(await operator.obligation(one.tenant, one.operationKey), false)),
    )),
  ];
  const kept = { refusals: await operator.refusals(), attention: await operator.attention() };
  const out = JSON.stringify({
    heard,
    events,
    answers,
    thrown,
    said,
    shown,
    kept,
    metrics: metrics.render(await operator.status()),
  });
  expect(out.match(/canary-[\w-]+/g) ?? []).toEqual([]);
  // What was looked at did go down every path.
  expect(new Set(receipts.map(({ outcome }) => outcome))).toEqual(
    new Set(["applied", "held", "parked", "refused", "quarantined", "ignored"]),
  );
  expect(new Set(obligations.map(({ state }) => state))).toEqual(new Set(["stuck", "settling"]));
  for (const kind of ["delivery.refused", "handler.failed", "attempt.ended", "operator.acted"]) {
    expect(heard.join("")).toContain(`"kind":"${kind}"`);
  }
  expect(JSON.stringify(shown)).toContain("status 422");
});
