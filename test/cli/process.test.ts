import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { counterfoil, openShop, Running } from "./command.ts";

vi.setConfig({ testTimeout: 180_000 });

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a command line that cannot work ends with 2 and says what to do", async () => {
  const cwd = emptyFolder();
  writeFileSync(join(cwd, "broken.mjs"), 'throw new Error("SHOP_URL is not set");');
  writeFileSync(join(cwd, "empty.mjs"), "export default {};");
  const ends = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await counterfoil(args, { cwd });
    return [code, stdout, stderr.trim()];
  };
  const text = (pattern: RegExp): unknown => expect.stringMatching(pattern);
  expect(await ends("nonsense")).toEqual([2, "", text(/^error: unknown command 'nonsense'/)]);
  expect(await ends("retry", "acme")).toEqual([2, "", text(/^error: missing required argument 'key'/)]);
  expect(await ends("apply", "one")).toEqual([2, "", text(/It must be a whole number/)]);
  expect(await ends("show", "acme")).toEqual([2, "", text(/^Cannot show "acme": name a receipt by its number/)]);
  expect(await ends("status")).toEqual([
    2,
    "",
    text(/there is no counterfoil\.config\.ts, .* name a file with --config \[CONFIG_INVALID\]$/),
  ]);
  expect(await ends("status", "-c", "broken.mjs")).toEqual([
    2,
    "",
    text(/broken\.mjs failed to load with .*SHOP_URL is not set/),
  ]);
  expect(await ends("status", "-c", "empty.mjs")).toEqual([2, "", text(/has no application as its default export/)]);
});

test.each(["ts", "mts", "js", "mjs"])("a configuration is found as counterfoil.config.%s", async (ending) => {
  const cwd = emptyFolder();
  writeFileSync(join(cwd, `counterfoil.config.${ending}`), "export default {};");
  const { stderr } = await counterfoil(["status"], { cwd });
  expect(stderr).toContain(`counterfoil.config.${ending} has no application as its default export`);
});

test("help and version end with 0", async () => {
  expect(await counterfoil(["--help"])).toMatchObject({ code: 0, stderr: "" });
  expect(await counterfoil(["retry", "--help"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Examples:"),
  });
  expect(await counterfoil(["--version"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  });
});

test("trouble with the database ends with 3", async () => {
  const folder = emptyFolder();
  const database = join(folder, "shop.db");
  writeFileSync(database, "this is no database".repeat(1_000));
  const env = { SHOP_DATABASE: database, SHOP_SECRET: "a secret of the command line's tests" };
  const { code, stdout, stderr } = await counterfoil(["status", "--json"], { env });
  expect([code, stdout]).toEqual([3, ""]);
  expect(JSON.parse(stderr)).toMatchObject({ error: "STORE_CORRUPT" });
});

test("an older Node is told so before anything else is loaded", async () => {
  const older = 'Object.defineProperty(process.versions, "node", { value: "22.9.0" });';
  const nodeFlags = ["--import", `data:text/javascript,${encodeURIComponent(older)}`];
  const { code, stderr } = await counterfoil(["status"], { nodeFlags });
  expect([code, stderr]).toEqual([
    2,
    "Cannot start: Counterfoil needs Node 24 or newer, this is 22.9.0; install Node 24\n",
  ]);
});

test("migrate says what it ran, and that there was nothing to do", async () => {
  const shop = await openShop();
  expect((await shop.run("migrate", "--json")).json).toEqual([
    { migrations: expect.arrayContaining([expect.stringMatching(/^0001_/)]) },
  ]);
  expect(await shop.run("migrate")).toMatchObject({ code: 0, stdout: "The schema is up to date.\n" });
});

test("a connection without secrets stops serve, not the other commands", async () => {
  const { env } = await openShop();
  const blank = { ...env, SHOP_SECRET: "" };
  expect((await counterfoil(["migrate"], { env: blank })).code).toBe(0);
  expect((await counterfoil(["list", "receipts"], { env: blank })).stdout).toBe("No receipts.\n");
  const served = await counterfoil(["serve", "--port", "0"], { env: blank });
  expect(served).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Cannot serve connection "stripe": .*blank/),
  });
  expect(await counterfoil(["send", "stripe"], { env: blank })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the one entry of secrets in connect("stripe", ...) is not set'),
  });
});

test("serve says once where it listens, logs JSON lines without secrets, and a signal ends it with 0", async () => {
  const shop = await openShop();
  const serving = await shop.serve("--log", "debug");
  const ready = {
    ready: true,
    url: serving.url,
    healthUrl: serving.url,
    basePath: "/hooks",
    connections: ["stripe"],
    roles: ["receiver", "worker"],
  };
  expect(JSON.parse(serving.stdout)).toEqual(ready);
  expect(await (await fetch(`${serving.url}/health/ready`)).json()).toEqual({ ok: true });
  await shop.run("send", "stripe", "--url", serving.url, "--id", "evt_1");
  await shop.reaches("done");
  serving.child.kill("SIGINT");
  const { code, stderr } = await serving.end();
  expect(code).toBe(0);
  const lines = stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly kind: string });
  expect(lines.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(["delivery.answered", "attempt.started", "attempt.ended"]),
  );
  expect(stderr).not.toContain(shop.env["SHOP_SECRET"]);
});

test("serve leaves the log to a configuration that has one, unless told a level", async () => {
  const shop = await openShop();
  const logged = async (...args: readonly string[]) => {
    const serving = new Running(["serve", "--port", "0", "--json", ...args], { env: { ...shop.env, SHOP_LOG: "1" } });
    onTestFinished(() => void serving.child.kill("SIGKILL"));
    await eventually(() => serving.stdout.includes("\n"));
    const { url } = JSON.parse(serving.stdout) as { readonly url: string };
    expect((await fetch(`${url}/hooks/stripe`, { method: "POST" })).status).toBe(401);
    serving.child.kill("SIGTERM");
    const { stdout, stderr } = await serving.end();
    expect(stdout.trimEnd().split("\n")).toHaveLength(1);
    return stderr.split('"kind":"delivery.refused"').length - 1;
  };
  expect(await logged()).toBe(1);
  expect(await logged("--log", "info")).toBe(2);
});

test("health has a port of its own for every role, where it is asked for", async () => {
  const shop = await openShop();
  const worker = new Running(["serve", "--role", "worker", "--health-port", "0", "--json"], { env: shop.env });
  onTestFinished(() => void worker.child.kill("SIGKILL"));
  await eventually(() => worker.stdout.includes("\n"));
  const { url, healthUrl } = JSON.parse(worker.stdout) as { readonly url: null; readonly healthUrl: string };
  expect([url, (await fetch(`${healthUrl}/health/ready`)).status]).toEqual([null, 200]);
  const both = await shop.serve("--health-port", "0");
  const ready = JSON.parse(both.stdout) as { readonly url: string; readonly healthUrl: string };
  const statusOf = async (origin: string) => (await fetch(`${origin}/health/live`)).status;
  expect([await statusOf(ready.healthUrl), await statusOf(ready.url)]).toEqual([200, 404]);
  worker.child.kill("SIGTERM");
  expect((await worker.end()).code).toBe(0);
  const taken = new URL(ready.healthUrl).port;
  const { code, stderr } = await counterfoil(["serve", "--port", "0", "--health-port", taken], { env: shop.env });
  expect(code).toBe(2);
  expect(stderr).toContain(`Cannot listen on 127.0.0.1:${taken}: EADDRINUSE; choose another --health-port or --host`);
});

test("serve on a port that is taken ends with 2 and names it", async () => {
  const { env } = await openShop();
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await eventually(() => server.listening);
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const { code, stderr } = await counterfoil(["serve", "--port", String(port), "--log", "silent"], { env });
  expect([code, stderr]).toEqual([
    2,
    `Cannot listen on 127.0.0.1:${port}: EADDRINUSE; choose another --port or --host [CONFIG_INVALID]\n`,
  ]);
});

test("a worker alone has no port, and a second signal ends it while a call is still out", async () => {
  const shop = await openShop();
  shop.carrier.failNext({ when: "after", kind: "hold" });
  const receiver = await shop.serve("--role", "receiver");
  await shop.run("send", "stripe", "--url", receiver.url);
  const worker = new Running(["serve", "--role", "worker", "--log", "silent"], { env: shop.env });
  onTestFinished(() => void worker.child.kill("SIGKILL"));
  await eventually(() => shop.carrier.held === 1);
  expect(worker.stdout).toBe("Ready: worker running.\n");
  worker.child.kill("SIGTERM");
  worker.child.kill("SIGTERM");
  await eventually(() => {
    worker.child.kill("SIGTERM");
    return worker.child.exitCode !== null;
  });
  expect((await worker.end()).code).toBe(1);
  await shop.reaches("sending");
});

test("send ends with 1 when the receiver does not accept, and with 2 when nobody answers", async () => {
  const shop = await openShop();
  const { url } = await shop.serve("--role", "receiver");
  const other = { ...shop.env, SHOP_SECRET: "another secret than the receiver's" };
  const forged = await counterfoil(["send", "stripe", "--url", url, "--json"], { env: other });
  expect(forged.code).toBe(1);
  expect(forged.json).toEqual([{ status: 401, accepted: false, answer: { error: "SIGNATURE_REFUSED" } }]);
  const [refusal] = await eventually(async () => {
    const { json } = await shop.run("list", "refusals", "--json");
    return json.length > 0 && json;
  });
  expect(refusal).toMatchObject({ connection: "stripe", cause: expect.any(String) });
  const nobody = await shop.run("send", "stripe", "--url", "http://127.0.0.1:1");
  expect(nobody).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/nothing answered there; start counterfoil serve/),
  });
  expect(await shop.run("send", "nowhere", "--url", url)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("UNKNOWN_CONNECTION"),
  });
});
