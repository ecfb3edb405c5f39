/** A worker whose handler ends its process on some events, as a bug or the system's memory killer does. */
import { appendFileSync } from "node:fs";
import { answerParent } from "../../../src/testing/child.ts";
import { clockAhead } from "../../support/crash-app.ts";
import { fatalApp } from "../../support/fatal-app.ts";

const [address = "", log = "", way = "", aheadMs = "0"] = process.argv.slice(2);

const app = fatalApp({
  address,
  clock: clockAhead(Number(aheadMs)),
  ran: (id) => {
    appendFileSync(log, `${id}\n`);
    if (!id.startsWith("fatal")) return;
    if (way === "exit") process.exit(9);
    process.kill(process.pid, "SIGKILL");
  },
});

answerParent({
  work: async () => {
    await app.drain({ budget: "1ms" });
    await app.stop();
    return null;
  },
});
