/** The README's way into a project of one's own, line by line. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../src/testing/eventually.ts";
import { counterfoil, Running } from "./cli/command.ts";

vi.setConfig({ testTimeout: 180_000 });

const readme = readFileSync("README.md", "utf8");
const [handler = "", rest = "", order = ""] = [...readme.matchAll(/^```ts\n(.*?)^```$/gmsu)].map(([, code]) => code);

test("a first try in a project of one's own ends with an applied event, and with the call that it owes", async () => {
  mkdirSync(".examples", { recursive: true });
  const cwd = resolve(mkdtempSync(".examples/readme-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, "counterfoil.config.ts"), `${handler}\n${rest}`);
  writeFileSync(join(cwd, "order.ts"), order);
  const env = { STRIPE_SECRET: "whsec_of_this_try", CARRIER_TOKEN: "none" };
  const child = spawnSync(process.execPath, [...process.execArgv, "order.ts"], {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    encoding: "utf8",
    timeout: 60_000,
  });
  expect([child.stderr, child.status]).toEqual(["", 0]);
  const serving = new Running(["serve", "--port", "0", "--json", "--log", "silent"], { cwd, env });
  onTestFinished(() => void serving.child.kill("SIGKILL"));
  const { url } = await eventually(
    () => serving.stdout.endsWith("\n") && (JSON.parse(serving.stdout) as { url: string }),
  );
  const run = async (...args: readonly string[]) => (await counterfoil(args, { cwd, env })).stdout;
  expect(await run("send", "stripe", "--url", url)).toMatch(/^200 .*"outcome":"applied"/);
  expect(await run("status")).toMatch(/^events +applied 1$/m);
  expect(await run("show", "acme", "1042/fulfil/v1")).toMatch(/^state +(owed|sending)$/m);
});
