import { expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { startProcess, type StartProcessOptions } from "../../src/testing/processes.ts";

const start = (options?: StartProcessOptions) => startProcess(new URL("./children/echo.ts", import.meta.url), options);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("answers go to the asks they belong to", async () => {
  await using child = start();
  const inputs = Array.from({ length: 50 }, (_, index) => ({ index, text: "line\nbreak \u2028 ü" }));
  expect(await Promise.all(inputs.map(async (input) => child.ask("echo", input)))).toEqual(inputs);
});

test("a handler that throws, or that is missing, fails its ask and nothing else", async () => {
  await using child = start();
  await expect(child.ask("fail")).rejects.toThrow("order is unknown");
  await expect(child.ask("nothing")).rejects.toThrow("no handler of that name");
  expect(await child.ask("echo", 1)).toBe(1);
});

test("an ask that is never answered fails when its time is up", async () => {
  await using child = start({ withinMs: 200 });
  await expect(child.ask("hang")).rejects.toThrow("no answer within 200 ms");
});

test("what a child says outside the protocol is kept as output", async () => {
  await using child = start();
  await child.ask("write", "{ from stdout }");
  await eventually(() => child.output.includes("{ from stdout }") && child.output.includes("from stderr"));
});

test("a process that kills itself fails the asks under way, after all that it said was heard", async () => {
  await using child = start();
  await expect(child.ask("die", "last words")).rejects.toThrow("it ended by SIGKILL");
  expect(child.told).toEqual(["last words"]);
  expect(await child.ended).toEqual({ code: null, signal: "SIGKILL" });
  await expect(child.ask("echo")).rejects.toThrow("it has ended");
});

test("a busy or stopped process dies of a kill, and an asking parent learns of it", async () => {
  await using busy = start();
  const asked = busy.ask("block");
  await using stopped = start();
  await stopped.ask("echo");
  stopped.signal("SIGSTOP");
  const [end] = await Promise.all([busy.kill(), stopped.kill(), expect(asked).rejects.toThrow("SIGKILL")]);
  expect(end.signal).toBe("SIGKILL");
});

test("leaving the block ends the process", async () => {
  let pid: number;
  {
    await using child = start();
    pid = child.pid!;
    await child.ask("echo");
    expect(isAlive(pid)).toBe(true);
  }
  expect(isAlive(pid)).toBe(false);
});

test("a process whose parent closes the pipe ends by itself, also when a server keeps it alive", async () => {
  await using idle = start();
  await idle.ask("echo");
  expect(await idle.finish()).toEqual({ code: 0, signal: null });

  await using serving = start();
  await serving.ask("provider", "/dev/null");
  expect((await serving.finish()).signal).toBe("SIGKILL");
});

test("a child has the environment it is given on top of ours", async () => {
  await using child = start({ environment: { COUNTERFOIL_KILL_AT: "7" } });
  expect(await child.ask("environment", "COUNTERFOIL_KILL_AT")).toBe("7");
  expect(await child.ask("environment", "PATH")).toBe(process.env["PATH"]);
});
