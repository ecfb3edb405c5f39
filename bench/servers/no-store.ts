/** The same server as `hand-written.ts` with its verification and parsing, and no database. */
import { announceListening } from "../kit/child.ts";
import { stripeReceiver } from "./stripe-receiver.ts";

const secret = process.env["STRIPE_SECRET"];
if (secret === undefined) throw new TypeError("Cannot start: STRIPE_SECRET is not set");

const server = stripeReceiver({ secret, apply: () => {} });
announceListening(await server.listen({ host: "127.0.0.1", port: 0 }));
