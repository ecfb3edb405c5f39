/** What JSON allows and code trips over: each is taken, kept and applied as it was signed, or kept as unreadable. */
import { connect, effect, type } from "counterfoil";
import type { SignedDelivery } from "counterfoil/providers";
import { describe, expect, test } from "vitest";
import { sha256 } from "../../src/domain/digest.ts";
import { headersFromRaw } from "../../src/verify/delivery-headers.ts";
import { verify } from "../../src/verify/verify.ts";
import { caseSecret, type CaseServer, sender, signedBytes, startCase } from "../support/case-server.ts";

const tell = effect("tell/v1", {
  input: type<{ id: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://partner.example/v1/notes", json: input }),
  idempotency: "none",
});

const changed = sender.on("changed", async ({ event, tx, owe }) => {
  // As JSON, since PostgreSQL's text has no NUL.
  const { note = null } = (event.data ?? {}) as { readonly note?: string };
  const resource = event.exactText(["data", "resource"]) ?? "none";
  await tx.sql`
    INSERT INTO notes (resource, note, amount) VALUES (${resource}, ${note && JSON.stringify(note)}, ${event.exactText(["data", "amount"]) ?? null})`;
  await owe(tell, { key: [resource], input: { id: resource } });
});

function notes(): Promise<CaseServer> {
  return startCase({
    connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed] })],
    effects: [tell],
    tables: ["CREATE TABLE notes (resource TEXT PRIMARY KEY, note TEXT, amount TEXT)"],
  });
}

function event(id: string, data: string): SignedDelivery {
  return signedBytes(`{"id":${id},"type":"changed","data":${data}}`);
}

/** The kept bytes of each receipt, in order of arrival; each verifies once more from what is kept alone. */
async function kept({ app }: CaseServer): Promise<readonly string[]> {
  const { reader } = app.runtime.store;
  const receipts = (await reader.receipts({}, { limit: 100 })).toReversed();
  const digests: string[] = [];
  for (const { id, connection } of receipts) {
    const payload = await reader.payload(id);
    const headers = headersFromRaw((JSON.parse(payload!.headers) as [string, string][]).flat());
    const delivery = { headers, body: payload!.bytes, arrivedAtMs: 0 };
    expect(verify(app.connections.get(connection)!.keyring, delivery)).toMatchObject({ kind: "verified" });
    digests.push(sha256(payload!.bytes));
  }
  return digests;
}

async function takesAndKeeps(
  server: CaseServer,
  deliveries: readonly SignedDelivery[],
  outcome: string,
): Promise<void> {
  const status = outcome === "applied" ? 200 : 202;
  for (const delivery of deliveries) expect(await server.post(delivery)).toMatchObject({ status, outcome });
  expect(await kept(server)).toEqual(deliveries.map(({ body }) => sha256(body)));
  for (const delivery of deliveries) expect(await server.post(delivery)).toMatchObject({ status, first: outcome });
  expect(await kept(server)).toHaveLength(deliveries.length);
}

test("integers beyond 2^53 keep their digits, as event ids, resource ids, amounts and in what is owed", async () => {
  const server = await notes();
  const deliveries = [
    event("15793596808644609", '{"resource":15793596808644608,"amount":9007199254740993}'),
    event("15793596808644610", '{"resource":15793596808644609,"amount":-0}'),
    event('"15793596808644611"', '{"resource":"15793596808644610","amount":1.50}'),
  ];
  await takesAndKeeps(server, deliveries, "applied");
  expect(await server.outcomes()).toEqual([
    "15793596808644609 applied",
    "15793596808644610 applied",
    "15793596808644611 applied",
  ]);
  expect(await server.rows("SELECT resource, amount FROM notes ORDER BY resource")).toEqual([
    { resource: "15793596808644608", amount: "9007199254740993" },
    { resource: "15793596808644609", amount: "-0" },
    { resource: "15793596808644610", amount: "1.50" },
  ]);
  expect(await server.owed()).toEqual(["acme/15793596808644608", "acme/15793596808644609", "acme/15793596808644610"]);
});

test("an escaped NUL is data like any other: in a value, in a key, or as text about itself", async () => {
  const server = await notes();
  const deliveries = [
    event('"1"', String.raw`{"resource":"a","note":"a\u0000b"}`),
    event('"2"', String.raw`{"resource":"b","note":"x","a\u0000b":1}`),
    event('"3"', String.raw`{"resource":"c","note":"\\u0000"}`),
  ];
  await takesAndKeeps(server, deliveries, "applied");
  expect(await server.rows("SELECT note FROM notes ORDER BY resource")).toEqual([
    { note: String.raw`"a\u0000b"` },
    { note: '"x"' },
    { note: String.raw`"\\u0000"` },
  ]);
});

test("keys that name inherited things change no prototype, are found by nobody, and their event is applied", async () => {
  const server = await notes();
  const hostile = '"__proto__":{"polluted":1,"resource":"p"},"constructor":{"prototype":{"polluted":1}},"toString":"x"';
  await takesAndKeeps(
    server,
    [signedBytes(`{"id":"1","type":"changed",${hostile},"data":{${hostile},"note":"n"}}`)],
    "applied",
  );
  expect(({} as Readonly<Record<string, unknown>>)["polluted"]).toBeUndefined();
  expect(await server.rows("SELECT resource, note FROM notes")).toEqual([{ resource: "none", note: '"n"' }]);
  // An id, a type or an account is never found on a prototype.
  expect(await server.post(signedBytes('{"__proto__":{"id":"2"},"type":"changed"}'))).toMatchObject({ status: 400 });
});

describe("what is verified and cannot be read", () => {
  const bytes = (middle: readonly number[]): SignedDelivery => {
    const [before = "", after = ""] = '{"id":"1","type":"changed","data":{"note":"|"}}'.split("|");
    return signedBytes(Buffer.concat([Buffer.from(before), Buffer.from(middle), Buffer.from(after)]));
  };

  test("is kept once with its bytes, apart from every other, and changes nothing", async () => {
    const server = await notes();
    const unreadable = [bytes([0xc3, 0x28]), bytes([0xff, 0xfe]), bytes([0x00]), event('"1"', '{"amount":1e400}')];
    await takesAndKeeps(server, [...unreadable, signedBytes(`[${"[".repeat(200)}`)], "quarantined");
    expect(await server.rows("SELECT * FROM notes")).toEqual([]);
    expect(await server.owed()).toEqual([]);
    const operator = server.app.operator({ who: "test" });
    expect((await operator.receipts()).map(({ reason }) => reason).toReversed()).toEqual([
      "invalid_utf8",
      "invalid_utf8",
      "not_json",
      "non_finite_number",
      "too_deep",
    ]);
    expect(await operator.attention()).toHaveLength(5);
    // The lenient reading of these bytes is a readable event of its own.
    expect(await server.post(bytes([0xef, 0xbf, 0xbd]))).toMatchObject({ outcome: "applied", event: "1" });
  });
});
