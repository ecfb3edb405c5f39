/** Runs the real command line in a process of its own, in the folder of a small shop. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { ObligationState } from "../../src/domain/obligation.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { type FakeProvider, startFakeProvider } from "../../src/testing/fake-provider.ts";
import { storeAt } from "../support/engine.ts";
import { ownDatabase } from "../support/own-database.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const folder = fileURLToPath(new URL("shop", import.meta.url));
/** Commands load the same hundred sources again and again; compiled once, they start in half the time. */
const compileCache = fileURLToPath(new URL("../../node_modules/.cache/cli-tests", import.meta.url));
const withinMs = 50_000;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Every line of standard output as JSON. */
  readonly json: readonly Record<string, unknown>[];
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly nodeFlags?: readonly string[];
}

/** Runs one command to its end. */
export async function counterfoil(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Running(args, options).end();
}

/** A command that runs until it is told to end. */
export class Running {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  readonly #ended: Promise<number | null>;

  constructor(args: readonly string[], { env = {}, cwd = folder, nodeFlags = [] }: RunOptions = {}) {
    const flags = ["--conditions=counterfoil-source", ...nodeFlags];
    this.child = spawn(process.execPath, [...flags, main, ...args], {
      cwd,
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NODE_COMPILE_CACHE: compileCache, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: withinMs,
      killSignal: "SIGKILL",
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#ended = once(this.child, "close").then(([code]) => code as number | null);
  }

  async end(): Promise<Ran> {
    const code = await this.#ended;
    const { stdout, stderr } = this;
    return {
      code,
      stdout,
      stderr,
      get json() {
        return stdout
          .trimEnd()
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as Record<string, unknown>);
      },
    };
  }
}

export interface Shop {
  readonly carrier: FakeProvider;
  readonly env: Readonly<Record<string, string>>;
  /** Waits until the shop's one obligation is in this state. */
  reaches(state: ObligationState): Promise<unknown>;
  /** Runs one command on this shop. */
  run(...args: readonly string[]): Promise<Ran>;
  /** Starts `serve` on a free port and gives its URL once it is ready. */
  serve(...args: readonly string[]): Promise<Running & { readonly url: string }>;
}

/** A shop with a database file and a carrier of its own. */
export async function openShop(): Promise<Shop> {
  const database = await ownDatabase();
  const carrier = await startFakeProvider();
  const env = {
    SHOP_DATABASE: database.address,
    SHOP_SECRET: "a secret of the command line's tests",
    SHOP_CARRIER: carrier.url,
  };
  const running: Running[] = [];
  const store = storeAt(database.address);
  onTestFinished(async () => {
    for (const { child } of running) child.kill("SIGKILL");
    await Promise.all(running.map((one) => one.end()));
    await carrier.close();
    await store.close();
  });
  return {
    carrier,
    env,
    async reaches(state) {
      await store.open();
      const seen = async () => (await store.reader.obligations({}, { limit: 1 }))[0]?.state;
      await eventually(async () => (await seen()) === state, { what: `state ${state}` });
    },
    run: (...args) => counterfoil(args, { env }),
    async serve(...args) {
      const process = new Running(["serve", "--port", "0", "--json", ...args], { env });
      running.push(process);
      await untilLine(process);
      const { url } = JSON.parse(process.stdout) as { readonly url: string };
      return Object.assign(process, { url });
    },
  };
}

function untilLine(process: Running): Promise<void> {
  return new Promise((resolve, reject) => {
    process.child.stdout?.on("data", () => process.stdout.includes("\n") && resolve());
    process.child.on("close", () => reject(new Error(`serve ended before it was ready: ${process.stderr}`)));
  });
}
