import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { Resolve } from "../../src/outbox/ssrf-guard.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { answer, certificate, make, replyOk, send, toLoopback, Wire } from "./wire.ts";

test("calls to a name that is not answered for ask for it once, and those to others go on", async () => {
  await using wire = await Wire.plain(replyOk);
  const asked: string[] = [];
  const resolve: Resolve = (name) => {
    asked.push(name);
    return name === "dead.test" ? new Promise(() => undefined) : toLoopback();
  };
  const { caller, clock } = make({ resolve });
  const calls = Array.from({ length: 16 }, () => send("http://dead.test/", { caller }));
  await eventually(() => asked.length > 0);
  expect(await send(`http://live.test:${wire.port}/`, { caller })).toMatchObject({ status: 201 });
  clock.advance(5_000);
  for (const call of calls) expect(await call).toMatchObject({ kind: "not_sent", cause: "deadline", phase: "resolve" });
  expect(asked).toEqual(["dead.test", "live.test"]);
});

describe("connections", () => {
  test("are kept and used again, unless a call wants its own", async () => {
    await using wire = await Wire.plain(replyOk);
    const { caller } = make();
    const url = `http://127.0.0.1:${wire.port}/`;
    await send(url, { caller });
    await send(url, { caller });
    expect(wire.connections).toBe(1);
    await send(url, { caller, reuse: false });
    expect(wire.connections).toBe(2);
    await send(url, { caller, reuse: false });
    expect(wire.connections).toBe(3);
  });

  test("that the provider closed while idle are not used", async () => {
    await using wire = await Wire.plain(replyOk);
    const { caller } = make();
    const url = `http://127.0.0.1:${wire.port}/`;
    await send(url, { caller });
    const [idle] = wire.sockets;
    idle!.end();
    await once(idle!, "close");
    expect(await send(url, { caller })).toMatchObject({ status: 201 });
    expect(wire.connections).toBe(2);
  });

  test("on which an answer comes that nobody asked for do not carry another call", async () => {
    await using wire = await Wire.plain((socket, text) => {
      replyOk(socket);
      if (text.includes("/twice")) socket.write(answer("200 OK", "for the next one"));
    });
    const { caller } = make();
    const url = `http://127.0.0.1:${wire.port}/`;
    // In one piece with the true answer, and later, on an idle connection.
    expect(await send(`${url}twice`, { caller })).toMatchObject({ status: 201 });
    await eventually(() => wire.sockets.length === 0);
    expect(await send(url, { caller })).toMatchObject({ status: 201 });
    wire.sockets[0]!.write(answer("200 OK", "for the next one"));
    await eventually(() => wire.sockets.length === 0);
    expect(await send(url, { caller })).toMatchObject({ status: 201 });
    expect(wire.connections).toBe(3);
  });

  test("are closed with their caller", async () => {
    await using wire = await Wire.plain(replyOk);
    const { caller } = make();
    await send(`http://127.0.0.1:${wire.port}/`, { caller });
    expect(wire.sockets).toHaveLength(1);
    caller.close();
    await eventually(() => wire.sockets.length === 0);
  });

  test("are closed when they were idle for long, and only then", async () => {
    let reply = (): void => undefined;
    await using wire = await Wire.plain((socket) => void (reply = () => replyOk(socket)));
    const { caller } = make({ idleMs: 20 });
    const call = send(`http://127.0.0.1:${wire.port}/`, { caller });
    const startedMs = performance.now();
    await eventually(() => wire.text.includes("1042") && performance.now() > startedMs + 200);
    reply();
    expect(await call).toMatchObject({ status: 201 });
    await eventually(() => wire.sockets.length === 0);
  });

  test("of forty calls at once raise no warning and leave no listener", async () => {
    await using wire = await Wire.plain();
    const warnings: Error[] = [];
    const hear = (warning: Error): void => void warnings.push(warning);
    process.on("warning", hear);
    const { caller, clock } = make();
    const abort = new AbortController();
    const url = `http://127.0.0.1:${wire.port}/`;
    const calls = Array.from({ length: 40 }, () => send(url, { caller, signal: abort.signal }));
    await eventually(() => wire.text.split("1042").length === 41);
    for (const socket of wire.sockets) replyOk(socket);
    expect((await Promise.all(calls)).every(({ kind }) => kind === "answered")).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    process.off("warning", hear);
    expect(warnings).toEqual([]);
  });
});

test("the probe sees every write and read, and a withdrawn call's first step only", async () => {
  await using wire = await Wire.plain(replyOk);
  const points: string[] = [];
  const probe = (point: string): void => void points.push(`${point} ${wire.received.length}`);
  const url = `http://127.0.0.1:${wire.port}/`;
  await send(url, { probe });
  expect(points.map((point) => point.split(" ")[0])).toEqual([
    "call.write:before",
    "call.write:after",
    "call.read:before",
    "call.read:after",
  ]);
  expect(points[0]).toBe("call.write:before 0");
  points.length = 0;
  await send(url, { probe, mayStart: () => false });
  expect(points.map((point) => point.split(" ")[0])).toEqual(["call.write:before"]);
});

describe("the destination guard", () => {
  test.each(["http://127.0.0.1", "https://127.0.0.1", "https://2130706433", "https://[::ffff:127.0.0.1]"])(
    "refuses %s before any connection",
    async (origin) => {
      await using wire = await Wire.plain(replyOk);
      const result = await send(`${origin}:${wire.port}/`, { allow: [] });
      expect(result).toMatchObject({ kind: "not_sent", reached: "no", cause: "blocked" });
      expect(wire.sockets).toHaveLength(0);
    },
  );

  test("refuses a name when one of its addresses is inside, and asks for it once", async () => {
    await using wire = await Wire.secure(replyOk);
    let asked = 0;
    const resolve = async () => ((asked += 1), [{ address: "93.184.216.34", family: 4 }, ...(await toLoopback())]);
    const { caller } = make({ ca: certificate, resolve });
    const result = await send(`https://carrier.test:${wire.port}/`, { caller, allow: [] });
    expect(result).toEqual({
      kind: "not_sent",
      reached: "no",
      phase: "resolve",
      cause: "blocked",
      detail: `Cannot call carrier.test: it resolves to an address that is not public; if that is meant, give its effect allow: ["https://carrier.test:${wire.port}"]`,
    });
    expect([asked, wire.sockets.length]).toEqual([1, 0]);
  });

  test("asks for an allowed name once, so that there is no second answer to connect to", async () => {
    await using wire = await Wire.secure(replyOk);
    const answers = [await toLoopback()];
    const resolve = async () => answers.shift() ?? [];
    const { caller } = make({ ca: certificate, resolve });
    const url = `https://carrier.test:${wire.port}/`;
    expect(await send(url, { caller })).toMatchObject({ status: 201 });
    expect(await send(url, { caller })).toMatchObject({ status: 201 });
    expect(wire.connections).toBe(1);
  });

  test("is not passed on a connection that an allowance opened", async () => {
    await using wire = await Wire.secure(replyOk);
    const { caller } = make({ ca: certificate, resolve: toLoopback });
    const url = `https://carrier.test:${wire.port}/`;
    expect(await send(url, { caller })).toMatchObject({ status: 201 });
    expect(await send(url, { caller, allow: [] })).toMatchObject({ kind: "not_sent", cause: "blocked" });
    expect(wire.connections).toBe(1);
  });
});

test("no environment variable puts a proxy in between or takes the certificate check away", async () => {
  await using proxy = await Wire.plain((socket) => void socket.end());
  await using plain = await Wire.plain(replyOk);
  await using secure = await Wire.secure(replyOk);
  const through = `http://127.0.0.1:${proxy.port}`;
  const names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
  const proxies = Object.fromEntries(names.map((name) => [name, through]));
  await using child = startProcess(new URL("./children/calling.ts", import.meta.url), {
    environment: { ...proxies, NO_PROXY: "", no_proxy: "", NODE_USE_ENV_PROXY: "1", NODE_TLS_REJECT_UNAUTHORIZED: "0" },
  });
  expect(await child.ask("call", `http://127.0.0.1:${plain.port}/`)).toEqual({ kind: "answered", phase: "complete" });
  expect(await child.ask("call", `https://127.0.0.1:${secure.port}/`)).toEqual({ kind: "not_sent", phase: "tls" });
  expect(proxy.connections).toBe(0);
  expect(secure.text).toBe("");
});
