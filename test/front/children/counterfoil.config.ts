/** The application of the HTTP thread's tests; `FRONT_FAULT` is what is wrong with its second loading. */
import { existsSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import type { App, Limits } from "counterfoil";
import { frontApp } from "../front-app.ts";

const {
  FRONT_ADDRESS = "",
  FRONT_SECRET = "",
  FRONT_LIMITS = "{}",
  FRONT_FAULT = "",
  FRONT_DIES_AT = "",
} = process.env;

const faults: Readonly<Record<string, () => unknown>> = {
  throws: () => {
    // What it has begun would keep its thread alive.
    setInterval(() => undefined, 1_000);
    throw new Error("the port of the metrics is taken");
  },
  "throws later": () => {
    setTimeout(() => {
      throw new Error("nobody catches this");
    });
    // Loading it does not end before that.
    return new Promise<void>(() => void setInterval(() => undefined, 1_000));
  },
  exits: () => process.exit(0),
  "fails a system call": () => {
    throw Object.assign(new Error("no such file: key.pem"), { code: "ENOENT", syscall: "open" });
  },
  lingers: () => void setInterval(() => undefined, 1_000),
  // Thrown or left when a test says so, long after it has listened.
  "dies at last": () =>
    setInterval(() => {
      if (existsSync(FRONT_DIES_AT)) throw new Error("the HTTP thread's own end");
    }, 20),
  "leaves at last": () =>
    setInterval(() => {
      if (existsSync(FRONT_DIES_AT)) process.exit(0);
    }, 20),
  "needs its arguments": () => {
    if (!process.argv.includes("serve")) throw new Error("it was started without arguments");
  },
};

if (!isMainThread) await faults[FRONT_FAULT]?.();

const limits = JSON.parse(FRONT_LIMITS) as Partial<Limits>;
const more = FRONT_FAULT === "has one more connection" ? ["one-more"] : [];
const opens = isMainThread || FRONT_FAULT === "listens itself";
const app: App = frontApp({ address: FRONT_ADDRESS, secret: FRONT_SECRET, limits, more, opens });
// A secret that is taken out of the environment is there once.
if (FRONT_FAULT === "takes its secret") delete process.env["FRONT_SECRET"];
if (FRONT_FAULT === "listens itself") await app.listen({ port: 0, thread: new URL(import.meta.url) });
export default app;
