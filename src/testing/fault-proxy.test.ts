import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "./eventually.ts";
import { startFakeProvider, type FakeProvider } from "./fake-provider.ts";
import { startFaultProxy, type FaultProxy, type ProxyMode } from "./fault-proxy.ts";
import { openRaw, requestBytes, type RawConnection, type RawOptions } from "./raw-http.ts";

const request = requestBytes({ path: "/v1/shipments", body: `{"order":"1042"}` });

interface Line {
  readonly provider: FakeProvider;
  readonly proxy: FaultProxy;
}

async function start(mode?: ProxyMode): Promise<Line> {
  const provider = await startFakeProvider();
  onTestFinished(async () => provider[Symbol.asyncDispose]());
  return { provider, proxy: await startProxy(Number(new URL(provider.url).port), mode) };
}

async function startProxy(targetPort: number, mode?: ProxyMode): Promise<FaultProxy> {
  const proxy = await startFaultProxy({ targetPort, ...(mode && { mode }) });
  onTestFinished(async () => proxy[Symbol.asyncDispose]());
  return proxy;
}

async function open(port: number, options?: RawOptions): Promise<RawConnection> {
  const connection = await openRaw(port, options);
  onTestFinished(async () => connection[Symbol.asyncDispose]());
  return connection;
}

/** A server that shows its sockets and what they read. */
async function listen(): Promise<{ readonly port: number; readonly sockets: Socket[]; readonly read: Buffer[] }> {
  const [sockets, read]: [Socket[], Buffer[]] = [[], []];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined).on("data", (chunk) => read.push(chunk));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets, read };
}

test("passes requests and replies untouched, several on one connection", async () => {
  const { provider, proxy } = await start();
  const connection = await open(proxy.port);
  for (let turn = 1; turn <= 3; turn += 1) {
    await connection.send(request);
    expect((await connection.read()).body.toString()).toBe(`{"id":"shp_${turn}"}`);
  }
  expect(provider.counts().effects).toBe(3);
});

test("gives new connections another target, and leaves open ones where they are", async () => {
  const [first, second] = [await start(), await start()];
  const connection = await open(first.proxy.port);
  await connection.send(request);
  await connection.read();
  first.proxy.setTarget(Number(new URL(second.provider.url).port));
  await connection.send(request);
  await connection.read();
  const another = await open(first.proxy.port);
  await another.send(request);
  await another.read();
  expect([first.provider.counts().effects, second.provider.counts().effects]).toEqual([2, 1]);
});

test("passes a large body both ways, whole and in order", async () => {
  const target = await listen();
  const proxy = await startProxy(target.port);
  const connection = await open(proxy.port);
  const bytes = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, index) => index % 251));
  await connection.send(bytes);
  connection.end();
  await eventually(() => target.read.reduce((sum, chunk) => sum + chunk.length, 0) === bytes.length);
  expect(Buffer.concat(target.read).equals(bytes)).toBe(true);
  target.sockets[0]!.end(bytes);
  expect((await connection.rest()).equals(bytes)).toBe(true);
  await eventually(() => proxy.connections === 0);
});

test("a dropped reply leaves the effect done and the caller waiting", async () => {
  const { provider, proxy } = await start({ kind: "drop-reply" });
  const connection = await open(proxy.port, { withinMs: 300 });
  await connection.send(request);
  await eventually(() => provider.counts().effects === 1);
  await expect(connection.read()).rejects.toThrow("nothing arrived");
});

test("a dropped reply is dropped for good, and later ones pass when the mode says so", async () => {
  const { provider, proxy } = await start({ kind: "drop-reply" });
  const connection = await open(proxy.port);
  await connection.send(request);
  await eventually(() => provider.counts().effects === 1);
  await provider.close();
  expect(proxy.connections).toBe(1);
});

test("the end of the server is dropped with its reply", async () => {
  const target = await listen();
  const proxy = await startProxy(target.port, { kind: "drop-reply" });
  const connection = await open(proxy.port, { withinMs: 300 });
  await connection.send("a");
  await eventually(() => target.sockets[0]);
  target.sockets[0]!.end("reply");
  await expect(connection.read()).rejects.toThrow("nothing arrived");
});

test("a reset before the first byte of the request leaves nothing at the server", async () => {
  const { provider, proxy } = await start({ kind: "reset", direction: "request", afterBytes: 0 });
  const connection = await open(proxy.port);
  await connection.send(request);
  await expect(connection.read()).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(provider.counts().requests).toBe(0);
});

test.each([
  { sent: 10, name: "right after the last of them" },
  { sent: request.length, name: "in the middle of a write" },
])("a reset within the request leaves exactly its bytes at the server, $name", async ({ sent }) => {
  const target = await listen();
  const proxy = await startProxy(target.port, { kind: "reset", direction: "request", afterBytes: 10 });
  const connection = await open(proxy.port);
  await connection.send(request.subarray(0, 7));
  await eventually(() => Buffer.concat(target.read).length === 7);
  await connection.send(request.subarray(7, sent));
  await expect(connection.read()).rejects.toMatchObject({ code: "ECONNRESET" });
  await eventually(() => target.sockets[0]?.destroyed);
  expect(Buffer.concat(target.read)).toEqual(request.subarray(0, 10));
});

test("a reset before the first byte of the reply comes after the effect", async () => {
  const { provider, proxy } = await start({ kind: "reset", direction: "reply", afterBytes: 0 });
  const connection = await open(proxy.port);
  await connection.send(request);
  await expect(connection.rest()).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(provider.counts().effects).toBe(1);
});

test("a reset within the reply counts its bytes from the moment the mode was set", async () => {
  const { provider, proxy } = await start();
  const connection = await open(proxy.port);
  await connection.send(request);
  await connection.read();
  proxy.setMode({ kind: "reset", direction: "reply", afterBytes: 1_000 });
  await connection.send(request);
  await connection.read();
  proxy.setMode({ kind: "reset", direction: "reply", afterBytes: 12 });
  await connection.send(request);
  expect((await connection.peek()).toString()).toBe("HTTP/1.1 201");
  await expect(connection.rest()).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(provider.counts().effects).toBe(3);
});

test("a stall holds both ways back, hides the end of a side, and lets all go on afterwards", async () => {
  const target = await listen();
  const proxy = await startProxy(target.port);
  const connection = await open(proxy.port);
  await connection.send("a");
  await eventually(() => Buffer.concat(target.read).toString() === "a");

  proxy.setMode({ kind: "stall" });
  await connection.send("b");
  target.sockets[0]!.end("c");
  const late = await open(proxy.port, { withinMs: 300 });
  await late.send("d");
  await expect(late.read()).rejects.toThrow("nothing arrived");
  expect(Buffer.concat(target.read).toString()).toBe("a");
  expect(proxy.connections).toBe(2);

  proxy.setMode({ kind: "pass" });
  expect((await connection.rest()).toString()).toBe("c");
  await eventually(() => Buffer.concat(target.read).toString().includes("b"));
});

test("slices arrive one by one and add up", async () => {
  const target = await listen();
  const proxy = await startProxy(target.port, { kind: "slice", bytes: 3 });
  const connection = await open(proxy.port);
  await connection.send(request);
  await eventually(() => Buffer.concat(target.read).equals(request));
  expect(target.read.length).toBeGreaterThan(request.length / 6);
});

test("every open connection can be reset at once, idle ones too", async () => {
  const { proxy } = await start();
  const connections = await Promise.all([open(proxy.port), open(proxy.port)]);
  for (const connection of connections) {
    await connection.send(request);
    await connection.read();
  }
  proxy.resetConnections();
  for (const connection of connections) {
    await expect(connection.rest()).rejects.toMatchObject({ code: "ECONNRESET" });
  }
  await eventually(() => proxy.connections === 0);
});

test("a server that is out of reach is a reset for the client", async () => {
  const { provider, proxy } = await start();
  await provider.close();
  const connection = await open(proxy.port);
  await expect(connection.rest()).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("half-closes pass: a client that has said all still reads the reply", async () => {
  const { proxy } = await start();
  const connection = await open(proxy.port);
  await connection.send(request);
  connection.end();
  expect((await connection.read()).status).toBe(201);
});

test("a client that says all and then resets disturbs nobody", async () => {
  const target = await listen();
  const proxy = await startProxy(target.port);
  const connection = await open(proxy.port);
  await connection.send("a");
  connection.end();
  await eventually(() => target.sockets[0]?.readableEnded);
  connection.reset();
  const writing = setInterval(() => target.sockets[0]!.write("reply"), 1);
  await eventually(() => proxy.connections === 0).finally(() => clearInterval(writing));
  const other = await open(proxy.port);
  await other.send("b");
  await eventually(() => Buffer.concat(target.read).toString() === "ab");
});

test("closing drops every connection, stalled ones too", async () => {
  const { proxy } = await start({ kind: "stall" });
  const connection = await open(proxy.port);
  await connection.send(request);
  await eventually(() => proxy.connections === 1);
  await proxy.close();
  await expect(connection.read()).rejects.toThrow();
  await eventually(() => proxy.connections === 0);
});
