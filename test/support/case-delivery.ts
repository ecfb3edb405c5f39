/** Senders without a preset, and what they send; apart from the server, since processes without a test runner use it too. */
import { generic, signDelivery, type SignedDelivery } from "counterfoil/providers";

export const caseSecret = "a secret of the cases";

/** Signs its bodies and nothing else; id, type and account stand in the body. */
export const sender = generic({
  name: "sender",
  signature: { kind: "hmac", header: "x-signature" },
  identity: {
    id: { from: "body", path: ["id"] },
    type: { from: "body", path: ["type"] },
    account: [{ from: "body", path: ["account"] }],
  },
  data: ["data"],
  retries: true,
  ackMs: 3_600_000,
});

/** Signs its bodies too, but its event ids travel in a header that no signature covers. */
export const careless = generic({
  name: "careless",
  signature: { kind: "hmac", header: "x-signature" },
  identity: { id: { from: "header", name: "x-id" }, type: { from: "body", path: ["type"] } },
  data: ["data"],
});

/** Bytes signed as they are. */
export function signedBytes(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): SignedDelivery {
  return signDelivery(sender.rules, caseSecret, { body: Buffer.from(body), timestampMs: 0, headers });
}

/** An event of the type "changed" unless said otherwise, signed. */
export function signedEvent(id: string, data: object = {}, more: object = {}): SignedDelivery {
  return signedBytes(JSON.stringify({ id, type: "changed", ...more, data }));
}
