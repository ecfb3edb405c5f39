import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Limits } from "../domain/limits.ts";
import type { NodeHandler } from "./mount-node.ts";

/** What the health endpoints say: `live` can make progress, `ready` can commit. */
export interface HealthChecks {
  live(): boolean | Promise<boolean>;
  ready(): Promise<boolean>;
}

/** What a port is for: hooks, health checks, or both. */
export type Served = "all" | "hooks" | "health";

export interface ServeOptions {
  readonly port: number;
  readonly host: string;
  readonly serves: Served;
  readonly limits: Limits;
  readonly hooks: NodeHandler;
  readonly health: HealthChecks;
}

/** A listening server of hooks and health; nothing else is served by it. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** From now on every answer is the last on its connection, so that senders and proxies look elsewhere. */
  leave(): void;
  /** Stops accepting, lets requests in flight end within the time, then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/** Listens for hooks, with every limit of a server that may stand on the public internet. */
export async function serve(options: ServeOptions): Promise<Listening> {
  const { limits } = options;
  const departure = new Departure();
  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: limits.headerBytes,
      keepAliveTimeout: 60_000,
      requireHostHeader: true,
    },
    (request, response) => {
      departure.watch(response);
      route(request, response, options);
    },
  );
  server.maxHeadersCount = limits.headerCount;
  server.maxConnections = limits.connectionsMax;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const leave = (): void => departure.begin();
  return { url: `http://${options.host}:${port}`, port, leave, close: (graceMs) => close(server, leave, graceMs) };
}

/**
 * Node's own close waits for kept connections as long as their clients go on sending. A client that
 * was told `connection: close` sends its next request elsewhere, and none is reset in the middle.
 */
class Departure {
  readonly #unanswered = new Set<ServerResponse>();
  #begun = false;

  watch(response: ServerResponse): void {
    if (this.#begun) return void response.setHeader("connection", "close");
    this.#unanswered.add(response);
    response.once("close", () => this.#unanswered.delete(response));
  }

  begin(): void {
    this.#begun = true;
    for (const response of this.#unanswered) if (!response.headersSent) response.setHeader("connection", "close");
  }
}

function route(request: IncomingMessage, response: ServerResponse, options: ServeOptions): void {
  const { serves, hooks, health } = options;
  if (serves !== "hooks" && request.url === "/health/live") return void report(response, () => health.live());
  if (serves !== "hooks" && request.url === "/health/ready") return void report(response, () => health.ready());
  if (serves !== "health") return hooks(request, response);
  response.writeHead(404, { connection: "close" }).end();
}

async function report(response: ServerResponse, check: () => boolean | Promise<boolean>): Promise<void> {
  const healthy = await Promise.resolve()
    .then(check)
    .catch(() => false);
  response.writeHead(healthy ? 200 : 503, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify({ ok: healthy }));
}

function close(server: Server, leave: () => void, graceMs: number): Promise<void> {
  leave();
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}
