/** What the operating system saw: each answer left after the log had been synced for it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { signedEvent } from "../support/case-delivery.ts";
import { hook, serveFront, told } from "./front-server.ts";

vi.setConfig({ testTimeout: 120_000 });

const strace = "/usr/bin/strace";

/** The calls of a process that sync a file or write to a socket, in the order in which they ended. */
async function traced(pid: number, during: () => Promise<void>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-strace-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "calls");
  const args = ["-f", "-s", "40", "-e", "trace=fdatasync,write,writev", "-o", file, "-p", String(pid)];
  const tracer = spawn(strace, args, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  tracer.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  await eventually(() => said.includes("attached"));
  await during();
  tracer.kill("SIGINT");
  await once(tracer, "exit");
  return readFileSync(file, "utf8");
}

test.for([["--no-http-thread"], []])(
  "serve %s answers each delivery after a sync of its own",
  async (args, { skip }) => {
    try {
      accessSync(strace);
    } catch {
      return skip("strace is not installed");
    }
    const { running, port } = await serveFront(["--role", "receiver", ...args]);
    const events = ["evt_1", "evt_2", "evt_3", "evt_4"];
    const calls = await traced(running.child.pid ?? 0, async () => {
      for (const event of events) expect(await told(port, hook(signedEvent(event)))).toContain("applied");
      // A duplicate speaks of a record as well.
      expect(await told(port, hook(signedEvent("evt_1")))).toContain("duplicate");
    });
    const steps = calls.split("\n").flatMap((line) => {
      if (/fdatasync.*= 0$/u.test(line)) return ["synced"];
      return line.includes("HTTP/1.1 200") ? ["answered"] : [];
    });
    expect(steps).toEqual([...events, "the duplicate"].flatMap(() => ["synced", "answered"]));
  },
);
