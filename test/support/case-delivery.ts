/** Senders without a preset, and what they send; apart from the server, since processes without a test runner use it too. */
import { generic, signDelivery, type SignedDelivery } from "counterfoil/providers";

export const caseSecret = "a secret of the cases";

/** Signs its bodies and nothing else; id, type and account stand in the body. */
export const sender = generic(common("sender"));

/** Signs its bodies too, but its event ids travel in a header that no signature covers. */
export const careless = generic({
  name: "careless",
  signature: { kind: "hmac", header: "x-signature" },
  identity: { id: { from: "header", name: "x-id" }, type: { from: "body", path: ["type"] } },
  data: ["data"],
});

/** Sends gzip, and signs what it sends. */
export const zipped = generic({ ...common("zipped"), encodings: ["gzip"] });

/** Sends gzip too, but signs what is inside. */
export const zippedInside = generic({ ...common("zipped-inside"), encodings: ["gzip"], signedBytes: "inflated" });

/** Sends JSON in the field of a form. */
export const posted = generic({
  ...common("posted"),
  contentTypes: ["application/json", "application/x-www-form-urlencoded"],
  form: { json: "payload" },
});

/** Sends forms whose fields are the event. */
export const fields = generic({ ...common("fields"), contentTypes: ["application/x-www-form-urlencoded"], data: [] });

/** Sends many events at once, as gzip where it likes. */
export const bundled = generic({ ...common("bundled"), encodings: ["gzip"], batch: { path: ["events"] } });

/** A batch of these items, signed. */
export function signedBatch(items: readonly unknown[]): SignedDelivery {
  return signedBytes(JSON.stringify({ events: items }));
}

/** An item of a batch, as `signedEvent` makes one. */
export function item(id: string, data: object = {}, more: object = {}): object {
  return { id, type: "changed", ...more, data };
}

function common<const Name extends string>(name: Name) {
  return {
    name,
    signature: { kind: "hmac", header: "x-signature" },
    identity: {
      id: { from: "body", path: ["id"] },
      type: { from: "body", path: ["type"] },
      account: [{ from: "body", path: ["account"] }],
    },
    data: ["data"],
    retries: true,
    ackMs: 3_600_000,
  } as const;
}

/** Bytes signed as they are. */
export function signedBytes(body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): SignedDelivery {
  return signDelivery(sender.rules, caseSecret, { body: Buffer.from(body), timestampMs: 0, headers });
}

/** An event of the type "changed" unless said otherwise, signed. */
export function signedEvent(id: string, data: object = {}, more: object = {}): SignedDelivery {
  return signedBytes(JSON.stringify({ id, type: "changed", ...more, data }));
}
