/**
 * What not every preset has, tried for each that has it, over real HTTP: test events on a live connection, one
 * bad item among good ones, lists within the items of a batch, and the same body under an id that nobody signed.
 */
import { connect, type ConnectOptions, type Json } from "counterfoil";
import {
  catalogue,
  type Provider,
  type ProviderData,
  sampleDelivery,
  signDelivery,
  type SignedDelivery,
} from "counterfoil/providers";
import { describe, expect, test, vi } from "vitest";
import { readPath } from "../../src/domain/json.ts";
import { idSources, plainSources } from "../../src/providers/field-source.ts";
import { rawExchange } from "../../src/testing/raw-http.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { withJson } from "../../src/verify/sign-request.ts";
import { fetchFixture, presetKey, publicUrl } from "../kit/preset-keys.ts";
import { traitsOf } from "../kit/preset-traits.ts";
import { type CaseServer, startCase } from "../support/case-server.ts";

vi.setConfig({ testTimeout: 120_000 });

const atMs = 1_800_000_000_000;
const presets = Object.values(catalogue).map((provider) => ({ provider, traits: traitsOf(provider) }));

function connection(id: string, provider: ProviderData, more: Partial<ConnectOptions<string>> = {}) {
  const common = { tenant: "acme", handlers: [], publicUrl, fetchKey: fetchFixture } as const;
  return connect(id, {
    ...common,
    provider,
    secrets: [presetKey(provider, 1).configured],
    ...more,
  });
}

/** LINE waits for two seconds at most, so the limits have to be below. */
function start(connections: ReturnType<typeof connect>[]): Promise<CaseServer> {
  return startCase({ clock: new VirtualClock({ wallMs: atMs }), limits: { lockMs: 500 }, connections });
}

function typeOf({ rules }: ProviderData): string {
  return Object.keys(rules.samples)[0] ?? "";
}

function sample(provider: ProviderData, id: string, body?: Json): SignedDelivery {
  const { signing: secret } = presetKey(provider, 1);
  const options = { secret, type: typeOf(provider), id, timestampMs: atMs, publicUrl };
  return sampleDelivery(provider.rules, { ...options, ...(body !== undefined && { body }) });
}

async function post({ port }: CaseServer, id: string, { headers, body, suffix = "" }: SignedDelivery): Promise<number> {
  const path = `/hooks/${id}${suffix}`;
  return (await rawExchange(port, { path, headers: Object.entries(headers), body })).status;
}

async function outcomeOf({ app }: CaseServer, id: string): Promise<string | undefined> {
  const [receipt] = await app.runtime.store.reader.receipts({ connection: id }, { limit: 1 });
  return receipt?.outcome;
}

function bytesOf(json: Json): Uint8Array {
  return Buffer.from(JSON.stringify(json));
}

test("events of the other mode are ignored, on a live connection and on a test connection", async () => {
  const withMode = presets.filter(({ traits }) => traits.hasMode).map(({ provider }) => provider);
  expect(withMode.length).toBeGreaterThan(0);
  const modes = ["live", "test"] as const;
  const server = await start(
    withMode.flatMap((provider) => {
      const handlers = [(provider as Provider).on(typeOf(provider), () => undefined)];
      return modes.map((mode) => connection(`${provider.name}-${mode}`, provider, { mode, handlers }));
    }),
  );
  for (const provider of withMode) {
    const { mode: rule } = provider.rules.identity;
    if (rule === undefined) continue;
    for (const sent of modes) {
      const body = withJson(provider.rules.samples[typeOf(provider)], rule.path, rule[sent]);
      for (const kept of modes) {
        const id = `${provider.name}-${kept}`;
        expect(await post(server, id, sample(provider, `event-${sent}`, body))).toBe(200);
        expect([id, sent, await outcomeOf(server, id)]).toEqual([id, sent, sent === kept ? "applied" : "ignored"]);
      }
    }
  }
});

describe("a batch", () => {
  const batches = presets.filter(({ traits }) => traits.isBatch).map(({ provider }) => provider);

  /** A sample's item under an id of its own, wherever that stands. */
  function itemOf(provider: ProviderData, id: string): Json {
    const { batch, identity } = provider.rules;
    const item = readPath(JSON.parse(Buffer.from(sample(provider, id).body).toString()), [
      ...(batch?.path ?? []),
      0,
    ]) as Json;
    const source = idSources(identity).find(({ from }) => from === "body");
    return identity.id.from === "derived" && source?.from === "body" ? withJson(item, source.path, id) : item;
  }

  /** An item that is signed like the others, and whose type is no text. */
  function badItemOf(provider: ProviderData): Json {
    const source = plainSources(provider.rules.identity.type).find(({ from }) => from === "body");
    if (source?.from !== "body") throw new Error(provider.name);
    return withJson(itemOf(provider, "bad"), source.path, "");
  }

  function batchOf(provider: ProviderData, items: readonly Json[]): SignedDelivery {
    const { batch, sampleEnvelope = {}, sampleHeaders = {} } = provider.rules;
    const { path = [] } = batch ?? {};
    return signDelivery(provider.rules, presetKey(provider, 1).signing, {
      headers: sampleHeaders,
      body: bytesOf(path.length === 0 ? items : withJson(sampleEnvelope, path, items)),
      timestampMs: atMs,
      url: publicUrl,
    });
  }

  test("with one bad item has a receipt for each of the good ones, at every preset of batches", async () => {
    expect(batches.length).toBeGreaterThan(9);
    const server = await start(batches.map((provider) => connection(provider.name, provider)));
    for (const provider of batches) {
      const items = [itemOf(provider, "good-1"), badItemOf(provider), itemOf(provider, "good-2")];
      const status = await post(server, provider.name, batchOf(provider, items));
      const receipts = await server.app.runtime.store.reader.receipts({ connection: provider.name }, { limit: 10 });
      const outcomes = receipts.map(({ outcome }) => outcome).toSorted();
      // Where the type is a part of the id, the bad one has no id, and the sender is told so.
      const bad = status < 300 ? ["quarantined"] : [];
      expect([provider.name, outcomes]).toEqual([provider.name, ["ignored", "ignored", ...bad]]);
      expect([provider.name, status]).toEqual([provider.name, bad.length === 0 ? 400 : expect.any(Number)]);
    }
  });

  test("of Meta is one event for each change of each entry", async () => {
    const { meta } = catalogue;
    if (meta === undefined) throw new Error("meta");
    const server = await start([connection("meta", meta)]);
    const change = (field: string, n: number): Json => ({ field, value: { n } });
    const entries = [
      { id: "page-1", time: 1, changes: [change("messages", 1), change("messages", 2), change("feed", 1)] },
      { id: "page-2", time: 1, changes: [change("messages", 1)] },
      { id: "page-3", time: 1, messaging: [{ message: { mid: "m1" } }] },
    ];
    expect(await post(server, "meta", batchOf(meta, entries))).toBe(200);
    const { reader } = server.app.runtime.store;
    const receipts = (await reader.receipts({ connection: "meta" }, { limit: 10 })).toReversed();
    expect(receipts.map(({ account, type }) => `${account} ${type}`)).toEqual([
      "page-1 messages",
      "page-1 messages",
      "page-1 feed",
      "page-2 messages",
      "page-3 entry",
    ]);
    const second = receipts[1] && (await reader.payload(receipts[1].id));
    expect(Buffer.from(second?.bytes ?? "").toString()).toBe(
      '{"id":"page-1","time":1,"changes":[{"field":"messages","value":{"n":2}}]}',
    );
    // Another batch with one of them again.
    await post(server, "meta", batchOf(meta, [{ id: "page-1", time: 1, changes: [change("messages", 2)] }]));
    expect(await reader.receipts({ connection: "meta" }, { limit: 10 })).toHaveLength(5);
  });

  test("of QuickBooks is one event for each entity of each company", async () => {
    const { quickbooks } = catalogue;
    if (quickbooks === undefined) throw new Error("quickbooks");
    const server = await start([connection("quickbooks", quickbooks)]);
    const entity = (name: string, id: string): Json => ({ name, id, operation: "Update", lastUpdated: "2026-01-01" });
    const company = (realmId: string, ...entities: Json[]): Json => ({ realmId, dataChangeEvent: { entities } });
    const notifications = [
      company("1", entity("Customer", "1"), entity("Vendor", "1")),
      company("2", entity("Customer", "1")),
    ];
    expect(await post(server, "quickbooks", batchOf(quickbooks, notifications))).toBe(200);
    const receipts = await server.app.runtime.store.reader.receipts({ connection: "quickbooks" }, { limit: 10 });
    expect(receipts.map(({ account, type }) => `${account} ${type}`).toReversed()).toEqual([
      "1 Customer.Update",
      "1 Vendor.Update",
      "2 Customer.Update",
    ]);
  });
});

test("the same body under another id is suspect where that id is not signed, and refused where it is", async () => {
  const named = presets.filter(({ traits }) => traits.idHeader !== undefined);
  expect(named.length).toBeGreaterThan(9);
  const server = await start(named.map(({ provider }) => connection(provider.name, provider)));
  for (const { provider, traits } of named) {
    const { name = "", isSigned = false } = traits.idHeader ?? {};
    const first = sample(provider, "id-1");
    await post(server, provider.name, first);
    expect([provider.name, await outcomeOf(server, provider.name)]).toEqual([provider.name, "ignored"]);
    const again = { ...first, headers: { ...first.headers, [name]: "id-2" } };
    const status = await post(server, provider.name, again);
    const found = isSigned ? status : await outcomeOf(server, provider.name);
    const refused = provider.rules.answers.SIGNATURE_REFUSED ?? 401;
    expect([provider.name, found]).toEqual([provider.name, isSigned ? refused : "suspect"]);
  }
});

test("a signature that fits any body counts for one event", async () => {
  const { mailgun } = catalogue;
  if (mailgun === undefined) throw new Error("mailgun");
  const server = await start([connection("mailgun", mailgun)]);
  const first = sample(mailgun, "id-1");
  await post(server, "mailgun", first);
  const body = bytesOf(withJson(JSON.parse(Buffer.from(first.body).toString()) as Json, ["event-data", "id"], "id-2"));
  await post(server, "mailgun", { ...first, body });
  expect(await server.outcomes()).toEqual(["id-1 ignored", "id-2 suspect"]);
});
