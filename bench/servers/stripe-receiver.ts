import { createHmac, timingSafeEqual } from "node:crypto";
import Fastify, { type FastifyInstance } from "fastify";

/**
 * What a careful developer writes by hand for Stripe, without us and without its SDK: raw bytes,
 * constant-time signature check with a time window, strict parsing. What happens to the event is
 * the caller's: a database transaction, or nothing at all.
 */
export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  readonly order: string;
}

const answers = {
  200: { type: "object", properties: { received: { type: "boolean" } } },
  "4xx": { type: "object", properties: { error: { type: "string" } } },
};

const toleranceSeconds = 300;
const signatureBytes = 32;

interface UncheckedEvent {
  readonly id?: unknown;
  readonly type?: unknown;
  readonly data?: { readonly object?: { readonly metadata?: { readonly order?: unknown } } };
}

/** A Fastify 5 receiver that answers 200 once `apply` has returned or resolved, and 500 if it throws or rejects. */
export function stripeReceiver(options: {
  readonly secret: string;
  readonly apply: (event: PaymentEvent, body: Buffer) => void | Promise<void>;
}): FastifyInstance {
  const server = Fastify({ logger: false, bodyLimit: 1_048_576 });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => {
    done(null, body);
  });
  server.post("/hooks/stripe", { schema: { response: answers } }, (request, reply) => {
    const body = request.body as Buffer;
    if (!signatureFits(request.headers["stripe-signature"], body, options.secret)) {
      return reply.code(401).send({ error: "signature does not fit" });
    }
    const event = paymentEvent(body);
    if (event === undefined) return reply.code(400).send({ error: "event cannot be read" });
    const applied = options.apply(event, body);
    return applied ? applied.then(() => ({ received: true })) : reply.send({ received: true });
  });
  return server;
}

/** Checks `t=...,v1=...[,v1=...]` as HMAC-SHA256 of `<t>.<body>`, not older or newer than 300 s. */
export function signatureFits(header: unknown, body: Buffer, secret: string): boolean {
  if (typeof header !== "string") return false;
  let timestamp = "";
  const candidates: Buffer[] = [];
  for (const part of header.split(",")) {
    const [name, value = ""] = part.split("=", 2);
    if (name === "t") timestamp = value;
    if (name === "v1") candidates.push(Buffer.from(value, "hex"));
  }
  const age = Date.now() / 1000 - Number(timestamp);
  if (!/^\d+$/.test(timestamp) || Math.abs(age) > toleranceSeconds) return false;
  const expected = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
  return candidates.some((candidate) => candidate.length === signatureBytes && timingSafeEqual(candidate, expected));
}

/** The fields that matter, or undefined for a body that is not such an event. */
export function paymentEvent(body: Buffer): PaymentEvent | undefined {
  try {
    const { id, type, data } = JSON.parse(body.toString("utf8")) as UncheckedEvent;
    const order = data?.object?.metadata?.order;
    if (typeof id !== "string" || typeof type !== "string" || typeof order !== "string") {
      return undefined;
    }
    return { id, type, order };
  } catch {
    return undefined;
  }
}
