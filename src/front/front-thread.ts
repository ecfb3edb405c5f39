/**
 * The HTTP thread: it loads the same configuration, reads and verifies what comes in, and answers what
 * the engine's thread says. It opens no database and runs no handler.
 */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { errorSummary } from "../domain/error-summary.ts";
import { CounterfoilError } from "../domain/errors.ts";
import { Gate } from "../http/gate.ts";
import { Hooks } from "../http/hooks.ts";
import { mountNode } from "../http/mount-node.ts";
import { type Listening, serve, type Served } from "../http/serve.ts";
import type { Fronted } from "./fronted.ts";
import { loadError } from "./load-error.ts";
import type { FrontData, SystemError, ToEngine, ToFront } from "./messages.ts";
import { RemoteHealth } from "./remote-health.ts";
import { RemoteInbox } from "./remote-inbox.ts";

const port = enginePort();
try {
  await listen(workerData as FrontData);
} catch (error) {
  const code = error instanceof CounterfoilError ? error.code : "INTERNAL";
  const message = error instanceof Error ? error.message : errorSummary(error);
  post({ kind: "failed", error: { code, message, system: systemError(error) } });
}

async function listen({ configuration, port: number, host, serves }: FrontData): Promise<void> {
  const { runtime, connections, basePath } = await loaded(configuration, serves);
  const { limits, clock } = runtime;
  const inbox = new RemoteInbox({ limits, post });
  const health = new RemoteHealth({ limits, clock, post });
  const hooks = new Hooks({
    connections,
    inbox,
    gate: new Gate(),
    limits,
    emit: (event) => inbox.emit(event),
    now: () => clock.wallMs(),
    basePath,
  });
  const listening = await serve({ port: number, host, serves, limits, hooks: mountNode(hooks, runtime), health });
  port.on("message", (message: ToFront) => void take(message, { inbox, health, listening }));
  post({ kind: "listening", url: listening.url, port: listening.port });
}

/** The application, which has to be as fit to serve here as it is in the engine's thread. */
async function loaded(configuration: string, serves: Served): Promise<Fronted> {
  try {
    const { default: app } = (await import(configuration)) as { readonly default: Fronted };
    const problems = serves === "health" ? [] : app.problems;
    if (problems.length > 0) throw new CounterfoilError("CONFIG_INVALID", problems.join("\n"));
    // Whose an id has been stands in the database: the engine's thread finds the connection too, and looks.
    app.connections.tenantBefore = () => Promise.resolve(undefined);
    return app;
  } catch (error) {
    throw loadError(error);
  }
}

async function take(
  message: ToFront,
  { inbox, health, listening }: { inbox: RemoteInbox; health: RemoteHealth; listening: Listening },
): Promise<void> {
  switch (message.kind) {
    case "answers":
      return inbox.settle(message.answers);
    case "heard":
      return inbox.heard();
    case "health":
      return health.settle(message.health, message.healthy);
    case "leave":
      return listening.leave();
    case "close":
      await listening.close(message.graceMs);
      inbox.flush();
      return post({ kind: "closed" });
  }
}

function post(message: ToEngine, transfer: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

function enginePort(): MessagePort {
  if (parentPort === null) throw new Error("Cannot run the HTTP thread: it is started by app.listen({ thread })");
  return parentPort;
}

function systemError(error: unknown): SystemError | null {
  if (!(error instanceof Error) || !("syscall" in error) || !("code" in error)) return null;
  return { code: String(error.code), syscall: String(error.syscall) };
}
