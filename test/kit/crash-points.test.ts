import { expect, test } from "vitest";
import { killAtEveryPoint } from "../../src/testing/crash-points.ts";
import { startProcess } from "../../src/testing/processes.ts";

const file = new URL("./children/steps.ts", import.meta.url);

test("a process dies by SIGKILL at each crash point in turn, with exactly the steps before it done", async () => {
  const runs: { readonly told: readonly unknown[]; readonly died: string }[] = [];
  const points = await killAtEveryPoint(async ({ environment }) => {
    await using child = startProcess(file, { environment });
    const answer = await child.ask("step").catch(() => undefined);
    const { signal } = await child.finish();
    expect(signal).toBe(answer === undefined ? "SIGKILL" : null);
    runs.push({ told: child.told, died: /killed at crash point (.*)/.exec(child.output)?.[1] ?? "" });
    return answer === undefined ? "killed" : "finished";
  });
  expect(points).toBe(6);
  expect(runs).toEqual([
    { told: [], died: "1: receipt:before" },
    { told: ["receipt"], died: "2: receipt:after" },
    { told: ["receipt"], died: "3: handler:before" },
    { told: ["receipt", "handler"], died: "4: handler:after" },
    { told: ["receipt", "handler"], died: "5: commit:before" },
    { told: ["receipt", "handler", "commit"], died: "6: commit:after" },
    { told: ["receipt", "handler", "commit"], died: "" },
  ]);
});
