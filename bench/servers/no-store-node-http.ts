/** Verification and parsing on bare `node:http`, no framework and no database: the ceiling of one thread. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { announceListening } from "../kit/child.ts";
import { paymentEvent, signatureFits } from "./stripe-receiver.ts";

const secret = process.env["STRIPE_SECRET"];
if (secret === undefined) throw new TypeError("Cannot start: STRIPE_SECRET is not set");

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    if (!signatureFits(request.headers["stripe-signature"], body, secret)) {
      return answer(response, 401, '{"error":"signature does not fit"}');
    }
    if (paymentEvent(body) === undefined) {
      return answer(response, 400, '{"error":"event cannot be read"}');
    }
    answer(response, 200, '{"received":true}');
  });
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  announceListening(`http://127.0.0.1:${port}`);
});

function answer(response: ServerResponse, status: number, json: string): void {
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(json),
  });
  response.end(json);
}
