import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { defaults } from "../../src/domain/limits.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { answer, make, replyOk, send, textOf, Wire } from "./wire.ts";

describe("an answer", () => {
  test("is given with its status, its kept headers and its body, and the request arrived byte for byte", async () => {
    const headers = ["Content-Type: application/json", "Retry-After: 1", "Retry-After: 2", "X-Id: 7", "X-Other: 8"];
    await using wire = await Wire.plain((socket) => void socket.write(answer("201 Created", '{"id":"s_1"}', headers)));
    const url = `http://127.0.0.1:${wire.port}/v1/shipments?ref=a%2Fb`;
    const result = await send(url, { request: { headers: { Authorization: "Bearer t" } }, keepHeaders: ["X-Id"] });
    expect(result).toEqual({
      kind: "answered",
      reached: "yes",
      phase: "complete",
      status: 201,
      headers: { "content-type": ["application/json"], "retry-after": ["1", "2"], "x-id": ["7"] },
      body: Buffer.from('{"id":"s_1"}'),
      truncated: false,
    });
    const [head, body] = wire.text.split("\r\n\r\n");
    expect(head!.split("\r\n").toSorted()).toEqual(
      [
        "POST /v1/shipments?ref=a%2Fb HTTP/1.1",
        "Authorization: Bearer t",
        "content-type: application/json",
        "idempotency-key: cf-1",
        "content-length: 16",
        "accept-encoding: identity",
        `Host: 127.0.0.1:${wire.port}`,
        "Connection: keep-alive",
      ].toSorted(),
    );
    expect(body).toBe('{"order":"1042"}');
  });

  test("to a GET has no body to send, and to a bodiless POST a length of 0", async () => {
    await using wire = await Wire.plain(replyOk);
    const url = `http://127.0.0.1:${wire.port}/`;
    await send(url, { request: { method: "GET", body: null } });
    expect(wire.text).not.toContain("content-length");
    await send(url, { request: { method: "POST", body: null } });
    expect(wire.text).toContain("content-length: 0");
  });

  test.each([301, 302, 303, 307, 308])("with status %i is not followed", async (status) => {
    await using inside = await Wire.plain(replyOk);
    const location = `Location: http://127.0.0.1:${inside.port}/latest/meta-data/`;
    await using wire = await Wire.plain((socket) => void socket.write(answer(`${status} Elsewhere`, "", [location])));
    const url = `http://127.0.0.1:${wire.port}/`;
    const result = await send(url, { allow: [url.slice(0, -1), `http://127.0.0.1:${inside.port}`] });
    expect(result).toMatchObject({ kind: "answered", status });
    expect(inside.connections).toBe(0);
  });

  test("that comes after interim ones is the final one", async () => {
    const interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n";
    await using wire = await Wire.plain((socket) => void socket.write(interim + answer("200 OK", "x")));
    expect(await send(`http://127.0.0.1:${wire.port}/`)).toMatchObject({ kind: "answered", status: 200 });
  });

  test("is kept as it came when the provider compresses it unasked", async () => {
    const packed = gzipSync("x".repeat(1_000_000));
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`;
    await using wire = await Wire.plain((socket) => void socket.write(Buffer.concat([Buffer.from(head), packed])));
    const result = await send(`http://127.0.0.1:${wire.port}/`);
    expect(result.kind === "answered" && Buffer.from(result.body).equals(packed)).toBe(true);
  });

  test("before the request was read to its end is an answer", async () => {
    const body = Buffer.alloc(64 * 1024 * 1024, "x");
    await using wire = await Wire.plain((socket) => {
      socket.pause();
      socket.write(answer("413 Content Too Large"));
    });
    const result = await send(`http://127.0.0.1:${wire.port}/`, { request: { body } });
    expect(result).toMatchObject({ kind: "answered", status: 413, truncated: false });
    // Half a request is on this connection; no other call may go out behind it.
    wire.sockets[0]!.resume();
    await eventually(() => wire.sockets.length === 0);
  });
});

describe("a body", () => {
  test.each([
    [10, false, 10],
    [11, true, 10],
    [1_000_000, true, 10],
  ])("of %i bytes under a cap of 10 is cut: %s", async (length, truncated, kept) => {
    await using wire = await Wire.plain((socket) => void socket.write(answer("200 OK", "x".repeat(length))));
    const { caller } = make({ limits: { ...defaults, answerBytes: 10 } });
    const result = await send(`http://127.0.0.1:${wire.port}/`, { caller });
    expect(result).toMatchObject({ kind: "answered", status: 200, truncated });
    expect(textOf(result)).toHaveLength(kept);
  });

  test("that never ends is cut and its connection closed", async () => {
    await using wire = await Wire.plain((socket) => {
      const flood = (): void => {
        while (socket.write(Buffer.alloc(65_536, "x"))) continue;
      };
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.on("drain", flood);
      flood();
    });
    const result = await send(`http://127.0.0.1:${wire.port}/`);
    expect(result).toMatchObject({ kind: "answered", status: 200, truncated: true });
    expect(textOf(result)).toHaveLength(defaults.answerBytes);
    await eventually(() => wire.sockets.length === 0);
  });

  test("that trickles is cut at the deadline; its status stays an answer", async () => {
    await using wire = await Wire.plain(
      (socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ndrip"),
    );
    const { caller, clock } = make();
    const reading = Promise.withResolvers<void>();
    const probe = (point: string): void => void (point === "call.read:before" && reading.resolve());
    const call = send(`http://127.0.0.1:${wire.port}/`, { caller, probe });
    await reading.promise;
    clock.advance(defaults.callMs);
    expect(await call).toMatchObject({ kind: "answered", status: 200, truncated: true, phase: "body" });
    expect(clock.pendingTimers).toBe(0);
  });

  test.each<[string, (socket: Socket) => void]>([
    ["half-closes", (socket) => void socket.end()],
    ["resets", (socket) => void setImmediate(() => socket.resetAndDestroy())],
  ])("whose sender %s in the middle is cut; its status stays an answer", async (_, breakOff) => {
    await using wire = await Wire.plain((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart", () => breakOff(socket));
    });
    const result = await send(`http://127.0.0.1:${wire.port}/`);
    expect(result).toMatchObject({ kind: "answered", status: 200, truncated: true });
  });
});
