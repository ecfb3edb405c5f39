/** Applications of these tests at work: in this process, or under `counterfoil serve` in one of its own. */
import { fileURLToPath } from "node:url";
import type { App, Limits, TelemetryEvent } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";
import { onTestFinished, vi } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { type RawRequest, rawExchange } from "../../src/testing/raw-http.ts";
import { Running } from "../cli/command.ts";
import { caseSecret } from "../support/case-delivery.ts";
import { storeAt, type TemporaryDatabase } from "../support/engine.ts";
import { ownDatabase } from "../support/own-database.ts";
import { createTables, frontApp } from "./front-app.ts";

const folder = fileURLToPath(new URL("children", import.meta.url));
/** Every thread loads the same sources again: compiled once, it starts in a quarter of the time. */
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/front-tests", import.meta.url));

/** The module that the HTTP thread loads. */
export const configuration: URL = new URL("children/counterfoil.config.ts", import.meta.url);

export interface FrontOptions {
  readonly limits?: Partial<Limits>;
  readonly fault?: string;
  readonly diesAt?: string;
  /** Of another server, to go on with its database. */
  readonly database?: TemporaryDatabase;
}

function environment(address: string, { limits = {}, fault = "", diesAt = "" }: FrontOptions): Record<string, string> {
  return {
    FRONT_ADDRESS: address,
    FRONT_SECRET: caseSecret,
    FRONT_LIMITS: JSON.stringify(limits),
    FRONT_FAULT: fault,
    FRONT_DIES_AT: diesAt,
    NODE_COMPILE_CACHE: compileCache,
  };
}

export interface FrontServer {
  readonly app: App;
  readonly database: TemporaryDatabase;
  /** Everything that the application said of itself, in the thread of this test. */
  readonly events: readonly TelemetryEvent[];
  /** Listens in another thread and gives the port. */
  readonly listen: () => Promise<number>;
}

/** An application in this process, open and empty. */
export async function frontServer(options: FrontOptions = {}): Promise<FrontServer> {
  const database = options.database ?? (await ownDatabase());
  for (const [name, value] of Object.entries(environment(database.address, options))) vi.stubEnv(name, value);
  const events: TelemetryEvent[] = [];
  const { limits = {} } = options;
  const app = frontApp({ address: database.address, limits, telemetry: (event) => void events.push(event) });
  onTestFinished(() => app.stop());
  await app.open();
  await createTables(app);
  return {
    app,
    database,
    events,
    listen: async () => (await app.listen({ port: 0, thread: configuration })).port,
  };
}

export interface FrontProcess {
  readonly running: Running;
  readonly port: number;
  readonly database: TemporaryDatabase;
}

/** The same under `serve`, once it is ready. */
export async function serveFront(args: readonly string[], options: FrontOptions = {}): Promise<FrontProcess> {
  const { running, database } = await startServe(args, options);
  await eventually(() => running.stdout.includes("\n") || running.child.exitCode !== null, { withinMs: 40_000 });
  if (!running.stdout.includes("\n")) throw new Error(`serve ended before it was ready: ${running.stderr}`);
  const { url } = JSON.parse(running.stdout) as { readonly url: string };
  return { running, database, port: Number(new URL(url).port) };
}

/** Starts `serve`, whatever becomes of it. */
export async function startServe(
  args: readonly string[],
  options: FrontOptions = {},
): Promise<{ readonly running: Running; readonly database: TemporaryDatabase }> {
  const database = options.database ?? (await prepared());
  const running = new Running(["serve", "--port", "0", "--json", ...args], {
    cwd: folder,
    env: environment(database.address, options),
  });
  onTestFinished(async () => {
    running.child.kill("SIGKILL");
    await running.end();
  });
  return { running, database };
}

async function prepared(): Promise<TemporaryDatabase> {
  const database = await ownDatabase();
  const app = frontApp({ address: database.address });
  await app.open();
  await createTables(app);
  await app.stop();
  return database;
}

/** A delivery as a request. */
export function hook({ headers, body }: SignedDelivery, connection = "sender"): RawRequest {
  return { path: `/hooks/${connection}`, headers: Object.entries(headers), body };
}

/** What a sender is told, in a line. */
export async function told(port: number, request: RawRequest): Promise<string> {
  const { status, body } = await rawExchange(port, request);
  return `${status} ${body.toString()}`;
}

export const live: RawRequest = { method: "GET", path: "/health/live" };

/** Event ids in a database: those that have a receipt, and those that a handler applied, as often as it did. */
export async function kept(database: TemporaryDatabase): Promise<{ receipts: string[]; applied: string[] }> {
  const store = storeAt(database.address);
  await store.open();
  const receipts = await store.reader.receipts({}, { limit: 10_000 });
  await store.close();
  const applied = await database.run("SELECT event FROM applied");
  return {
    receipts: receipts.map(({ eventId }) => eventId).sort(),
    applied: applied.map(({ event }) => String(event)).sort(),
  };
}
