import { createHmac, randomBytes } from "node:crypto";
import { orderId, ordersCount } from "./shop.ts";

/**
 * Requests as Stripe sends them, built and signed before the clock starts, so that the load
 * generator spends its time on sockets only. All have one length and lie side by side in one buffer.
 */
export interface StripeRequests {
  readonly count: number;
  /** The event id inside the request at this index; no two are the same. */
  id(index: number): string;
  /** The bytes of the request, head and body. A view, not a copy. */
  bytes(index: number): Buffer;
}

const bodyBytes = 1024;

/** Orders are paid about as they were placed: in scattered order within a thousand of them, the stride shares no factor with it. */
const ordersAround = 1_000;
const orderStride = 389;

/** Events in one second of an id's time. */
const eventsPerSecond = 2_000;
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomLength = 8;

/** Prepares signed requests with distinct event ids; each pays an order of its own. */
export function stripeRequests(options: { readonly count: number; readonly secret: string }): StripeRequests {
  const { count, secret } = options;
  if (count > ordersCount) {
    throw new RangeError(`Cannot prepare ${count} requests: there are ${ordersCount} orders to pay, ask for no more`);
  }
  const timestamp = Math.floor(Date.now() / 1000);
  const random = randomBytes(count * randomLength);
  const id = (index: number): string => {
    const time = inBase62(timestamp + Math.floor(index / eventsPerSecond));
    const rest = random.subarray(index * randomLength, (index + 1) * randomLength);
    return `evt_1${time}LkdIwHu7i${Array.from(rest, (byte) => base62[byte % 62]).join("")}`;
  };
  const build = (index: number): string => {
    const body = eventBody(id(index), orderId(orderAt(index)), timestamp);
    const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex");
    return requestHead(timestamp, signature) + body;
  };
  const size = count === 0 ? 0 : build(0).length;
  const slab = Buffer.allocUnsafe(count * size);
  for (let index = 0; index < count; index++) slab.write(build(index), index * size, size, "latin1");
  return { count, id, bytes: (index) => slab.subarray(index * size, (index + 1) * size) };
}

/** Stripe's ids begin with their time, then name the account: one account's events of one second lie side by side. */
function inBase62(seconds: number): string {
  let text = "";
  for (let rest = seconds; rest > 0; rest = Math.floor(rest / 62)) text = `${base62[rest % 62]}${text}`;
  return text;
}

function orderAt(index: number): number {
  const place = index % ordersAround;
  return index - place + ((place * orderStride) % ordersAround);
}

function requestHead(timestamp: number, signature: string): string {
  return [
    "POST /hooks/stripe HTTP/1.1",
    "Host: 127.0.0.1",
    "User-Agent: Stripe/1.0 (+https://stripe.com/docs/webhooks)",
    "Accept: */*; q=0.5, application/xml",
    "Cache-Control: no-cache",
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${bodyBytes}`,
    `Stripe-Signature: t=${timestamp},v1=${signature}`,
    "\r\n",
  ].join("\r\n");
}

/** A trimmed `payment_intent.succeeded`, filled up with its description to exactly 1 KiB of ASCII. */
function eventBody(id: string, order: string, timestamp: number): string {
  const head =
    `{"id":"${id}","object":"event","api_version":"2025-03-31.basil","created":${timestamp},` +
    `"livemode":true,"pending_webhooks":1,"request":{"id":"req_9Xc2nT4kqWzL1p","idempotency_key":null},` +
    `"type":"payment_intent.succeeded","data":{"object":{"id":"pi_${id.slice(4)}",` +
    `"object":"payment_intent","amount":4990,"amount_capturable":0,"amount_received":4990,` +
    `"capture_method":"automatic","confirmation_method":"automatic","created":${timestamp},` +
    `"currency":"eur","customer":"cus_QmV7t1Zr8LkYbd","latest_charge":"ch_3PfT2eLkdIwHu7ix0aBcDeFg",` +
    `"livemode":true,"metadata":{"order":"${order}"},"payment_method":"pm_1PfT2dLkdIwHu7ixRsTuVwXy",` +
    `"payment_method_types":["card"],"receipt_email":"buyer@example.com","status":"succeeded",` +
    `"shipping":null,"description":"`;
  const tail = `"}}}`;
  return head + ".".repeat(bodyBytes - head.length - tail.length) + tail;
}
