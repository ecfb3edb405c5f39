/** Answers that a provider's preset gives in place of the usual ones, and responses that somebody in front wrapped. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, defineApp } from "counterfoil";
import { sqlite } from "counterfoil/sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { HandshakeAnswer } from "../../src/providers/handshake.ts";
import type { ProviderRules } from "../../src/providers/provider-spec.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { headerValues, openRaw, rawExchange, requestBytes } from "../../src/testing/raw-http.ts";
import { caseSecret, sender, signedEvent } from "../support/case-delivery.ts";
import { type CaseServer, startCase } from "../support/case-server.ts";

const changed = sender.on("changed", () => undefined);

function connection(rules: Partial<ProviderRules>) {
  const provider = { ...sender, rules: { ...sender.rules, ...rules } };
  return connect("sender", { provider, secrets: [caseSecret], tenant: "acme", handlers: [changed] });
}

function fetched({ app }: CaseServer, method = "POST"): Promise<Response> {
  const { headers, body } = signedEvent("evt-1");
  const request = { method, headers, ...(method === "POST" && { body: Buffer.from(body) }) };
  return app.fetch(new Request("http://localhost/hooks/sender", request));
}

test.each([204, 205, 304])(
  "a status without a body, %i, ends with its head, and the next answer is whole",
  async (status) => {
    const server = await startCase({ connections: [connection({ answers: { final: status } })] });
    await using raw = await openRaw(server.port);
    const { headers, body } = signedEvent("evt-1");
    await raw.send(requestBytes({ path: "/hooks/sender", headers: Object.entries(headers), body }));
    const answer = await raw.read();
    expect([answer.status, answer.body.length]).toEqual([status, 0]);
    expect(headerValues(answer, "content-length")).toEqual(status === 205 ? ["0"] : []);
    await raw.send(requestBytes({ path: "/hooks/nobody" }));
    expect(await raw.read()).toMatchObject({ status: 404, body: Buffer.from('{"error":"UNKNOWN_CONNECTION"}') });
    const response = await fetched(server);
    expect([response.status, await response.text()]).toEqual([status, ""]);
  },
);

test.each([0, 101, 199, 600, 200.5, Number.NaN])(
  "a status that ends no request, %d, is found at the start",
  (status) => {
    const start = () =>
      defineApp({ store: sqlite(":memory:"), connections: [connection({ answers: { open: status } })], effects: [] });
    expect(start).toThrow(/"sender": sender answers open with .*; give a status from 200 to 599$/);
  },
);

const plain = { status: 200, headers: {}, body: "ok" };
const unsendable: readonly [string, object][] = [
  ["an interim status", { ...plain, status: 101 }],
  ["a header that would be two", { ...plain, headers: { "x-echo": "a\r\nset-cookie: b=c" } }],
  ["a header without a proper name", { ...plain, headers: { "x echo": "a" } }],
  ["a length of its own", { ...plain, headers: { "Content-Length": "1" } }],
  ["a promise", Promise.resolve(plain)],
];

test.each(unsendable)("a handshake that gives %s is answered 500, by both kinds of server", async (_name, answer) => {
  let given: unknown = answer;
  const server = await startCase({
    connections: [
      connection({ handshake: ({ method }) => (method === "GET" ? (given as HandshakeAnswer) : undefined) }),
    ],
  });
  const shake = () => rawExchange(server.port, { method: "GET", path: "/hooks/sender" });
  expect(await shake()).toMatchObject({ status: 500, body: Buffer.from('{"error":"INTERNAL"}') });
  expect((await fetched(server, "GET")).status).toBe(500);
  given = plain;
  expect(await shake()).toMatchObject({ status: 200, body: Buffer.from("ok") });
  given = { ...plain, status: 204 };
  expect(await shake()).toMatchObject({ status: 204, body: Buffer.alloc(0) });
  expect((await fetched(server, "GET")).status).toBe(204);
});

test("a response that throws when it is written costs its own request only", async () => {
  const server = await startCase({ connections: [connection({})] });
  const wrappers: readonly ((response: ServerResponse) => void)[] = [
    (response) => {
      response.writeHead = () => {
        Reflect.deleteProperty(response, "writeHead");
        throw new Error("something in front");
      };
    },
    (response) => {
      response.writeHead = () => {
        throw new Error("something in front");
      };
    },
    () => undefined,
  ];
  let requests = 0;
  const mine = createServer((request, response) => {
    wrappers[requests++]?.(response);
    server.app.node(request, response);
  });
  onTestFinished(() => void mine.close());
  await new Promise<void>((resolve) => void mine.listen(0, "127.0.0.1", resolve));
  const { headers, body } = signedEvent("evt-1");
  const send = () =>
    rawExchange((mine.address() as AddressInfo).port, {
      path: "/hooks/sender",
      headers: Object.entries(headers),
      body,
    });
  expect(await send()).toMatchObject({ status: 500 });
  await expect(send()).rejects.toThrow(/connection ended/);
  expect(await send()).toMatchObject({ status: 200 });
  await eventually(async () => (await server.outcomes()).length === 1);
});
