/** The calls that the shop owes to the outside. */
import { effect } from "counterfoil";
import * as v from "valibot";

/** Where the carrier of this try runs; a real shop has constants here. */
const carrier = process.env["SHOP_CARRIER"] ?? "http://127.0.0.1:4601";
const simpleCourier = process.env["SHOP_COURIER"] ?? "http://127.0.0.1:4602";

const input = v.object({ order: v.string() });
const answer = v.object({ id: v.string() });
const shipments = v.object({ shipments: v.array(answer) });

/** A carrier that keeps an idempotency contract: after a lost answer the same bytes go out under the same key. */
export const ship = effect("ship/v1", {
  input,
  answer,
  request: ({ input: { order }, key }) => ({
    method: "POST",
    url: `${carrier}/v1/shipments`,
    json: { order, ref: key },
  }),
  headers: () => ({ authorization: `Bearer ${process.env["CARRIER_TOKEN"] ?? "example"}` }),
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
  lookup: {
    get: ({ key }) => `${carrier}/v1/shipments?ref=${encodeURIComponent(key)}`,
    answer: shipments,
    found: (found) => found.shipments[0],
  },
  allow: [carrier],
  timeout: "5s",
  settled: ({ tx, operation, result }) =>
    tx.sql`UPDATE orders SET tracking = ${result.answer.id}
           WHERE tenant = ${operation.tenant} AND id = ${operation.input.order}`,
});

/** A courier that books whatever it is sent: after a lost answer only asking tells whether to send again. */
export const courier = effect("courier/v1", {
  input,
  answer,
  request: ({ input: { order }, key }) => ({
    method: "POST",
    url: `${simpleCourier}/v1/shipments`,
    json: { order, ref: key },
  }),
  idempotency: "none",
  lookup: {
    get: ({ key }) => `${simpleCourier}/v1/shipments?ref=${encodeURIComponent(key)}`,
    answer: shipments,
    found: (found) => found.shipments[0],
    settleDelay: "250ms",
  },
  allow: [simpleCourier],
  timeout: "5s",
  settled: ({ tx, operation, result }) =>
    tx.sql`UPDATE orders SET tracking = ${result.answer.id}
           WHERE tenant = ${operation.tenant} AND id = ${operation.input.order}`,
});

/** Money back for an order that was cancelled before it was paid. */
export const refund = effect("refund/v1", {
  input: v.object({ payment: v.string() }),
  request: ({ input: { payment }, key }) => ({
    method: "POST",
    url: `${carrier}/v1/shipments`,
    json: { refund: payment, ref: key },
  }),
  idempotency: { header: "Idempotency-Key", keyLifetime: "24h" },
  allow: [carrier],
  timeout: "5s",
});
