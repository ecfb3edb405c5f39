import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { signDelivery } from "../../src/providers/sample-delivery.ts";
import { stripe } from "../../src/providers/stripe.ts";
import { seededRandom } from "../../src/testing/random.ts";
import { headersFromFetch } from "../../src/verify/delivery-headers.ts";
import { verify } from "../../src/verify/verify.ts";
import { openApp, orderApp, placeOrders, secret, temporaryDatabase } from "../support/order-app.ts";
import { deliver } from "./deliver.ts";

/** What a parser and a printer, or a database's JSON type, would not give back as it was. */
const fragments = [
  '"a": 1.0',
  '"a":1e2',
  '"a" : -0',
  '"n": 9007199254740993',
  '"u":"\\u001B \\u001b \\/ \\\\u00"',
  '"s":"\u2028 \u{1F600} é e\u0301"',
  '"b":1,"a":2',
  '"a":1,"a":2',
  '"deep": {"z":[ ],"y":{ }}',
];
const data = '"data":{"object":{"metadata":{}}}';
const spaces = [" ", "\n", "\r\n", "\t", "   "];

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

test("two hundred payloads come back from a copy of the database byte for byte, and verify again", async () => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  const random = seededRandom(seed);
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  const { app } = stack.use(await openApp(orderApp(database.address, { limits: { queueMs: 60_000 } })));
  await placeOrders(app, "order-1");
  const sent = new Map<string, string>();
  const deliveries = Array.from({ length: 200 }, (_, n) => {
    const members = [data, ...random.shuffle(fragments).slice(0, 3)].join(`,${random.pick(spaces)}`);
    const text = `{"id":"evt-${n}",${random.pick(spaces)}"type":"payment_intent.succeeded",${members}}${random.pick(spaces)}`;
    const body = Buffer.from(text);
    sent.set(`evt-${n}`, sha256(body));
    return signDelivery(stripe.rules, secret, { headers: {}, body, timestampMs: Date.now() });
  });
  const statuses = await Promise.all(deliveries.map(async (delivery) => (await deliver(app, delivery)).status));
  expect(new Set(statuses), `seed ${seed}`).toEqual(new Set([200]));

  const copy = stack.use(await database.copy()).address;
  const { app: restored } = stack.use(await openApp(orderApp(copy)));
  const operator = restored.operator({ who: "ada" });
  const keyring = restored.connections.get("stripe")?.keyring;
  const receipts = await restored.runtime.store.reader.receipts({}, { limit: 500 });
  expect(receipts).toHaveLength(200);
  for (const { id, eventId, receivedAt } of receipts) {
    const { bytes, headers } = await operator.payload(id);
    expect(sha256(bytes), `${eventId} of seed ${seed}`).toBe(sent.get(eventId));
    const kept = new Headers(JSON.parse(headers) as [string, string][]);
    const again = { headers: headersFromFetch(kept), body: bytes, arrivedAtMs: receivedAt };
    expect(keyring && verify(keyring, again), `${eventId} of seed ${seed}`).toMatchObject({ kind: "verified" });
  }
});
