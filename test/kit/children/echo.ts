/** A child that answers, fails, hangs, and writes where it should not. */
import { answerParent, tellParent, type ChildHandlers } from "../../../src/testing/child.ts";
import { startFakeProvider } from "../../../src/testing/fake-provider.ts";

const handlers: ChildHandlers = {
  echo: (input) => input,
  fail: () => {
    throw new Error("order is unknown");
  },
  hang: async () => Promise.withResolvers<never>().promise,
  block: () => {
    for (;;);
  },
  write: (input) => {
    console.log(input);
    console.error("from stderr");
  },
  die: (input) => {
    tellParent(input);
    process.kill(process.pid, "SIGKILL");
  },
  environment: (name) => process.env[name as string] ?? null,
  provider: async (file) => (await startFakeProvider({ file: file as string })).url,
};

answerParent(handlers, { graceMs: 200 });
