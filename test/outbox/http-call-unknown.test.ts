import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { defaults } from "../../src/domain/limits.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { make, replyOk, send, Wire } from "./wire.ts";

describe("unknown", () => {
  test.each<[string, (socket: Socket) => void, string]>([
    ["resets", (socket) => void socket.resetAndDestroy(), "reset"],
    ["hangs up", (socket) => void socket.destroy(), "reset"],
    ["half-closes", (socket) => void socket.end(), "reset"],
    ["answers something else", (socket) => void socket.end("SSH-2.0-OpenSSH_9.2\r\n"), "malformed"],
    ["answers a broken status", (socket) => void socket.write("HTTP/1.1 20 OK\r\n\r\n"), "malformed"],
    [
      "answers two lengths",
      (socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
      "malformed",
    ],
    ["answers a bare line feed", (socket) => void socket.write("HTTP/1.1 200 OK\nA: b\n\n"), "malformed"],
    [
      "answers endless headers",
      (socket) => void socket.write(`HTTP/1.1 200 OK\r\nA: ${"x".repeat(20_000)}`),
      "malformed",
    ],
    ["breaks off in the headers", (socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-"), "reset"],
    [
      "switches protocols unasked",
      (socket) => void socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
      "reset",
    ],
  ])("when the provider reads the request and %s; it is sent once", async (_, react, cause) => {
    await using wire = await Wire.plain(react);
    const result = await send(`http://127.0.0.1:${wire.port}/`);
    expect(result).toMatchObject({ kind: "unknown", reached: "maybe", cause });
    expect(wire.connections).toBe(1);
    expect(wire.text.match(/POST/g)).toHaveLength(1);
  });

  test("when a connection that served before is reset under the next request; it is not sent again", async () => {
    let requests = 0;
    await using wire = await Wire.plain((socket) => {
      requests += 1;
      if (requests === 1) replyOk(socket);
      else socket.resetAndDestroy();
    });
    const { caller } = make();
    const url = `http://127.0.0.1:${wire.port}/`;
    expect(await send(url, { caller })).toMatchObject({ status: 201 });
    expect(await send(url, { caller })).toMatchObject({ kind: "unknown", cause: "reset", phase: "headers" });
    expect([requests, wire.connections]).toEqual([2, 1]);
  });

  test("when the provider never answers within the time for the call", async () => {
    await using wire = await Wire.plain();
    const { caller, clock } = make();
    const call = send(`http://127.0.0.1:${wire.port}/`, { caller, callMs: 7_000 });
    await eventually(() => wire.text.includes("1042"));
    clock.advance(6_999);
    clock.advance(1);
    const result = await call;
    expect(result).toMatchObject({ kind: "unknown", cause: "deadline", detail: "no answer within 7000 ms" });
    await eventually(() => wire.sockets.length === 0);
  });

  test("when the provider does not read the request within the time for the call", async () => {
    await using wire = await Wire.plain((socket) => void socket.pause());
    const { caller, clock } = make();
    const body = Buffer.alloc(64 * 1024 * 1024, "x");
    const call = send(`http://127.0.0.1:${wire.port}/`, { caller, request: { body } });
    await eventually(() => wire.received.length > 0);
    clock.advance(defaults.callMs);
    expect(await call).toMatchObject({ kind: "unknown", phase: "write", cause: "deadline" });
  });

  test("when its signal is aborted, or the caller closed, while the provider works on it", async () => {
    await using wire = await Wire.plain();
    const { caller } = make();
    const url = `http://127.0.0.1:${wire.port}/`;
    const abort = new AbortController();
    const first = send(url, { caller, signal: abort.signal });
    await eventually(() => wire.text.includes("1042"));
    abort.abort();
    expect(await first).toMatchObject({ kind: "unknown", cause: "aborted" });
    const second = send(url, { caller });
    await eventually(() => wire.text.split("1042").length === 3);
    caller.close();
    expect(await second).toMatchObject({ kind: "unknown", cause: "closed" });
    expect(await send(url, { caller })).toMatchObject({ kind: "not_sent", cause: "closed" });
  });
});
