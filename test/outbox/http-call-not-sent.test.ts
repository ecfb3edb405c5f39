import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { defaults } from "../../src/domain/limits.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { answer, certificate, make, replyOk, send, toLoopback, Wire } from "./wire.ts";

describe("not sent", () => {
  test("when the name has no address", async () => {
    const resolve = (): Promise<never> => Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND" }));
    const result = await send("http://carrier.test/", { caller: make({ resolve }).caller });
    expect(result).toEqual({
      kind: "not_sent",
      reached: "no",
      phase: "resolve",
      cause: "unresolved",
      detail: "ENOTFOUND",
    });
  });

  test("when nobody listens", async () => {
    const wire = await Wire.plain();
    const { port } = wire;
    await wire.close();
    const byAddress = await send(`http://127.0.0.1:${port}/`);
    expect(byAddress).toMatchObject({ kind: "not_sent", phase: "connect", cause: "refused", detail: "ECONNREFUSED" });
    const resolve = toLoopback;
    const byName = await send(`http://carrier.test:${port}/`, { caller: make({ resolve }).caller });
    expect(byName).toMatchObject({ kind: "not_sent", phase: "connect", cause: "refused" });
  });

  test("when the certificate is not trusted, and it is sent when its authority is given", async () => {
    await using wire = await Wire.secure(replyOk);
    const url = `https://127.0.0.1:${wire.port}/`;
    const result = await send(url);
    expect(result).toMatchObject({
      kind: "not_sent",
      phase: "tls",
      cause: "tls",
      detail: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    expect(wire.text).toBe("");
    expect(await send(url, { caller: make({ ca: certificate }).caller })).toMatchObject({ status: 201 });
  });

  test("when the certificate is of another name", async () => {
    await using wire = await Wire.secure(replyOk);
    const resolve = toLoopback;
    const { caller } = make({ ca: certificate, resolve });
    const result = await send(`https://other.test:${wire.port}/`, { caller });
    expect(result).toMatchObject({ kind: "not_sent", phase: "tls", detail: "ERR_TLS_CERT_ALTNAME_INVALID" });
    expect(await send(`https://carrier.test:${wire.port}/`, { caller })).toMatchObject({ status: 201 });
  });

  test.each<[string, (socket: Socket) => void]>([
    ["speaks plain HTTP", (socket) => void socket.end(answer("200 OK"))],
    ["resets", (socket) => void socket.resetAndDestroy()],
    ["hangs up", (socket) => void socket.end()],
  ])("when the other side %s instead of a TLS handshake", async (_, react) => {
    await using wire = await Wire.plain(react);
    const result = await send(`https://127.0.0.1:${wire.port}/`);
    expect(result).toMatchObject({ kind: "not_sent", phase: "tls", cause: "tls" });
  });

  test("when the handshake outlasts the time to connect", async () => {
    await using wire = await Wire.plain();
    const { caller, clock } = make();
    const call = send(`https://127.0.0.1:${wire.port}/`, { caller });
    await eventually(() => wire.received.length > 0);
    clock.advance(defaults.connectMs);
    expect(await call).toMatchObject({ kind: "not_sent", phase: "tls", cause: "deadline" });
    expect(clock.pendingTimers).toBe(0);
  });

  test("when the resolver outlasts the time to connect", async () => {
    const asked = Promise.withResolvers<void>();
    const never = Promise.withResolvers<never>().promise;
    const { caller, clock } = make({ resolve: () => (asked.resolve(), never) });
    const call = send("http://carrier.test/", { caller });
    await asked.promise;
    clock.advance(defaults.connectMs);
    expect(await call).toMatchObject({ kind: "not_sent", phase: "resolve", cause: "deadline" });
  });

  test("when the caller takes it back; it is asked on the open connection, before the first byte", async () => {
    await using wire = await Wire.secure(replyOk);
    const { caller } = make({ ca: certificate });
    const url = `https://127.0.0.1:${wire.port}/`;
    let asked = 0;
    const result = await send(url, { caller, mayStart: () => ((asked += 1), false) });
    expect(result).toMatchObject({ kind: "not_sent", phase: "write", cause: "withdrawn" });
    expect(asked).toBe(1);
    await eventually(() => wire.sockets.length === 0);
    expect(wire.text).toBe("");
  });

  test("when the caller takes it back on a connection that has served before", async () => {
    await using wire = await Wire.plain(replyOk);
    const { caller } = make();
    const url = `http://127.0.0.1:${wire.port}/`;
    await send(url, { caller });
    const before = wire.text;
    expect(await send(url, { caller, mayStart: () => false })).toMatchObject({ cause: "withdrawn" });
    await eventually(() => wire.sockets.length === 0);
    expect(wire.text).toBe(before);
    expect(wire.connections).toBe(1);
  });

  test("when there was no connection the caller is not even asked", async () => {
    const wire = await Wire.plain();
    const { port } = wire;
    await wire.close();
    let asked = 0;
    await send(`http://127.0.0.1:${port}/`, { mayStart: () => ((asked += 1), true) });
    expect(asked).toBe(0);
  });

  test("when a header cannot be sent", async () => {
    await using wire = await Wire.plain(replyOk);
    const url = `http://127.0.0.1:${wire.port}/`;
    for (const headers of [{ "Idempotency-Key": "mine" }, { "x-ref": "a\r\nX-Injected: 1" }, { Host: "evil.test" }]) {
      expect(await send(url, { request: { headers } })).toMatchObject({ kind: "not_sent", cause: "unsendable" });
    }
    expect(wire.connections).toBe(0);
  });

  test("when its signal was aborted before, or while it connected", async () => {
    await using wire = await Wire.plain();
    const url = `https://127.0.0.1:${wire.port}/`;
    expect(await send(url, { signal: AbortSignal.abort() })).toMatchObject({ kind: "not_sent", cause: "aborted" });
    expect(wire.connections).toBe(0);
    const abort = new AbortController();
    const call = send(url, { signal: abort.signal });
    await eventually(() => wire.received.length > 0);
    abort.abort();
    expect(await call).toMatchObject({ kind: "not_sent", phase: "tls", cause: "aborted" });
  });

  test("when the caller's own functions throw, and the error comes out", async () => {
    await using wire = await Wire.plain(replyOk);
    const url = `http://127.0.0.1:${wire.port}/`;
    const mayStart = (): boolean => {
      throw new Error("the store is closed");
    };
    await expect(send(url, { mayStart })).rejects.toThrow("the store is closed");
    await eventually(() => wire.connections === 1 && wire.sockets.length === 0);
    expect(wire.text).toBe("");
  });
});
