/** One delivery by each way over HTTP that an application can be mounted by, with the answer's status and body. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { App } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";
import Fastify from "fastify";

interface Mounted {
  readonly app: App;
  readonly connection: string;
  readonly delivery: SignedDelivery;
}

async function post(port: number, { connection, delivery: { headers, body } }: Mounted) {
  const url = `http://127.0.0.1:${port}/hooks/${connection}`;
  const answer = await fetch(url, { method: "POST", headers, body: new Uint8Array(body) });
  return [answer.status, await answer.json()];
}

/** By a server of node:http. */
export async function byNode(mounted: Mounted): Promise<unknown> {
  const server = createServer(mounted.app.node).listen(0, "127.0.0.1");
  await once(server, "listening");
  const told = await post((server.address() as AddressInfo).port, mounted);
  server.closeAllConnections();
  server.close();
  return told;
}

export async function byFastify(mounted: Mounted): Promise<unknown> {
  const server = Fastify({ forceCloseConnections: true });
  await server.register(mounted.app.fastify);
  await server.listen({ port: 0, host: "127.0.0.1" });
  const told = await post((server.server.address() as AddressInfo).port, mounted);
  await server.close();
  return told;
}

/** By the application's own server. */
export async function byOwnServer(mounted: Mounted): Promise<unknown> {
  const server = await mounted.app.listen({ port: 0 });
  const told = await post(server.port, mounted);
  await server.close(0);
  return told;
}

export async function byFetch({ app, connection, delivery: { headers, body } }: Mounted): Promise<unknown> {
  const request = { method: "POST", headers, body: new Uint8Array(body) };
  const answer = await app.fetch(new Request(`http://hooks.example/hooks/${connection}`, request));
  return [answer.status, await answer.json()];
}

export async function byLambda({ app, connection, delivery: { headers, body } }: Mounted): Promise<unknown> {
  return app.lambda({
    version: "2.0",
    rawPath: `/hooks/${connection}`,
    rawQueryString: "",
    headers,
    requestContext: { http: { method: "POST" } },
    body: Buffer.from(body).toString("base64"),
    isBase64Encoded: true,
  });
}
