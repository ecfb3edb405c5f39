import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { chunkedBytes, headerValues, openRaw, rawExchange, requestBytes } from "./raw-http.ts";

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that says these bytes to whoever connects, then ends or resets. */
async function say(bytes: string, then: (socket: Socket) => void = (socket) => socket.end()): Promise<number> {
  return listen(createTcpServer((socket) => socket.on("error", () => undefined).write(bytes, () => then(socket))));
}

const serve = async (listener: RequestListener): Promise<number> => listen(createServer(listener));

const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString("latin1");
    response.end(JSON.stringify({ method: request.method, url: request.url, raw: request.rawHeaders, body }));
  });
};

const json = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

test("a request is encoded byte by byte, with a host and a length where none are given", () => {
  expect(requestBytes({ path: "/hooks/a", body: "ü" }).toString("latin1")).toBe(
    "POST /hooks/a HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\n\xc3\xbc",
  );
  expect(
    requestBytes({
      method: "GET",
      headers: [
        ["Content-Length", "9"],
        ["Host", "é"],
      ],
    }).toString("latin1"),
  ).toBe("GET / HTTP/1.1\r\nContent-Length: 9\r\nHost: \xe9\r\n\r\n");
});

test("headers arrive repeated, in order and in the case they were given", async () => {
  const headers = [
    ["Stripe-Signature", "t=1"],
    ["x-a", "b"],
    ["stripe-signature", "t=2"],
  ] as const;
  const { status, body } = await rawExchange(await serve(echo), { headers, body: "{}" });
  expect(status).toBe(200);
  const { raw } = json(body) as { raw: string[] };
  expect(raw.slice(0, 6)).toEqual(headers.flat());
});

test("chunks are cut where the parts are, in the middle of a character too", async () => {
  const [first, second] = [Buffer.from("ü").subarray(0, 1), Buffer.from("ü").subarray(1)];
  expect(chunkedBytes(first, "", second).toString("latin1")).toBe("1\r\n\xc3\r\n1\r\n\xbc\r\n0\r\n\r\n");
  await using connection = await openRaw(await serve(echo));
  await connection.send(requestBytes({ headers: [["transfer-encoding", "chunked"]] }));
  await connection.send(chunkedBytes(first, second));
  expect(json((await connection.read()).body)).toMatchObject({ body: "\xc3\xbc" });
});

test("a request in single bytes is the same request", async () => {
  await using connection = await openRaw(await serve(echo));
  for (const byte of requestBytes({ path: "/slow", body: "{}" })) await connection.send(Buffer.from([byte]));
  expect(json((await connection.read()).body)).toMatchObject({ url: "/slow", body: "{}" });
});

test("answers are read one after the other, by length, by chunks and without a body", async () => {
  const port = await say(
    "HTTP/1.1 100 Continue\r\n\r\n" +
      "HTTP/1.1 204 No Content\r\n\r\n" +
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-A: 1\r\nx-a:  2 \r\n\r\nabc" +
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\na;x=y\r\n0123456789\r\n0\r\n\r\n" +
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" +
      "HTTP/1.0 500\r\n\r\nto the end",
  );
  await using connection = await openRaw(port);
  expect((await connection.read()).status).toBe(100);
  expect((await connection.read()).status).toBe(204);
  const answer = await connection.read();
  expect([answer.body.toString(), headerValues(answer, "x-a")]).toEqual(["abc", ["1", "2"]]);
  expect((await connection.read()).body.toString()).toBe("de0123456789");
  expect((await connection.read({ bodiless: true })).body.length).toBe(0);
  const last = await connection.read();
  expect([last.statusLine, last.status, last.body.toString()]).toEqual(["HTTP/1.0 500", 500, "to the end"]);
});

test("an answer that breaks off, or is reset, is an error and never half an answer", async () => {
  const half = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf";
  await using ended = await openRaw(await say(half));
  await expect(ended.read()).rejects.toThrow("the connection ended after 4 bytes");
  const resetting = await say(half, (socket) => socket.on("data", () => socket.resetAndDestroy()));
  await using reset = await openRaw(resetting);
  await reset.send("x");
  await expect(reset.read()).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("a silent server is an error when the time is up", async () => {
  const sockets: Socket[] = [];
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  await using connection = await openRaw(await listen(createTcpServer((socket) => sockets.push(socket))), {
    withinMs: 100,
  });
  await expect(connection.read()).rejects.toThrow("nothing arrived for 100 ms");
});

test("a body shorter than its length leaves the server waiting until the end is said", async () => {
  await using connection = await openRaw(await serve(echo));
  await connection.send(requestBytes({ headers: [["content-length", "10"]], body: "short" }));
  connection.end();
  expect((await connection.read()).status).toBe(400);
});
