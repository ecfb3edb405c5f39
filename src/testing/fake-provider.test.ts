import { mkdtempSync, rmSync, appendFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "./eventually.ts";
import { startFakeProvider, type FakeProvider, type FakeProviderOptions } from "./fake-provider.ts";
import { VirtualClock } from "./virtual-clock.ts";

async function start(options?: FakeProviderOptions): Promise<FakeProvider> {
  const provider = await startFakeProvider(options);
  onTestFinished(async () => provider[Symbol.asyncDispose]());
  return provider;
}

interface Booked {
  readonly status: number;
  readonly body: { readonly id?: string; readonly error?: { readonly code: string } };
  readonly replayed: boolean;
}

/** Books a shipment; the order goes into the body beside `ref`. */
async function book({ url }: FakeProvider, key: string | undefined, order = "1042"): Promise<Booked> {
  const headers = { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }) };
  const body = JSON.stringify({ order, ref: key });
  const response = await fetch(`${url}/v1/shipments`, { method: "POST", headers, body });
  const replayed = response.headers.get("idempotent-replayed") === "true";
  return { status: response.status, body: (await response.json()) as Booked["body"], replayed };
}

async function lookUp(
  { url }: FakeProvider,
  ref: string,
): Promise<{ readonly status: number; readonly ids: string[] }> {
  const response = await fetch(`${url}/v1/shipments?ref=${encodeURIComponent(ref)}`);
  const { shipments = [] } = (await response.json()) as { readonly shipments?: { readonly id: string }[] };
  return { status: response.status, ids: shipments.map(({ id }) => id) };
}

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "fake-provider-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "provider.jsonl");
}

describe("a provider that keeps its contract", () => {
  test("answers the same key and body with the kept answer, and one effect", async () => {
    const provider = await start();
    expect(await book(provider, "k1")).toEqual({ status: 201, body: { id: "shp_1", ref: "k1" }, replayed: false });
    expect(await book(provider, "k1")).toEqual({ status: 201, body: { id: "shp_1", ref: "k1" }, replayed: true });
    expect((await book(provider, "k2")).body.id).toBe("shp_2");
    expect(provider.counts()).toEqual({
      requests: 3,
      lookups: 0,
      effects: 2,
      byKey: { k1: { requests: 2, effects: 1 }, k2: { requests: 1, effects: 1 } },
      byRef: { k1: { requests: 2, effects: 1 }, k2: { requests: 1, effects: 1 } },
    });
  });

  test("refuses the same key with another body", async () => {
    const provider = await start();
    await book(provider, "k1");
    const { status, body } = await book(provider, "k1", "another order");
    expect([status, body.error?.code]).toEqual([422, "key_reused"]);
    expect(provider.counts().effects).toBe(1);
  });

  test("answers 409 while the first request under the key still runs", async () => {
    const provider = await start();
    provider.failNext({ when: "before", kind: "hold" });
    const first = book(provider, "k1");
    await eventually(() => provider.held === 1);
    const { status, body } = await book(provider, "k1");
    expect([status, body.error?.code]).toEqual([409, "key_in_use"]);
    expect(provider.counts().effects).toBe(0);
    provider.release();
    expect((await first).status).toBe(201);
    expect((await book(provider, "k1")).replayed).toBe(true);
  });

  test("forgets a key when its life is over, and not a moment earlier", async () => {
    const clock = new VirtualClock();
    const provider = await start({ keyLifetime: "1h", clock });
    await book(provider, "k1");
    clock.stepWall(3_599_999);
    expect((await book(provider, "k1")).replayed).toBe(true);
    clock.stepWall(1);
    expect((await book(provider, "k1")).body.id).toBe("shp_2");
    expect(provider.counts().byKey["k1"]).toEqual({ requests: 3, effects: 2 });
  });

  test("does not forget a key that still runs", async () => {
    const clock = new VirtualClock();
    const provider = await start({ keyLifetime: "1h", clock });
    provider.failNext({ when: "before", kind: "hold" });
    const first = book(provider, "k1");
    await eventually(() => provider.held === 1);
    clock.stepWall(7_200_000);
    expect((await book(provider, "k1")).status).toBe(409);
    provider.release();
    await first;
  });

  test("books each request without a key anew", async () => {
    const provider = await start();
    await Promise.all([book(provider, undefined), book(provider, undefined)]);
    expect(provider.counts()).toMatchObject({ effects: 2, byKey: {}, byRef: {} });
  });

  test("performs one effect per key under any number of requests at once", async () => {
    const provider = await start();
    const keys = Array.from({ length: 40 }, (_, index) => `k${index % 4}`);
    const statuses = await Promise.all(keys.map(async (key) => (await book(provider, key)).status));
    expect(new Set(statuses)).toEqual(new Set([201]));
    expect(provider.counts()).toMatchObject({ requests: 40, effects: 4 });
  });

  test("keeps an error of its own under the key when told to", async () => {
    const provider = await start();
    provider.failNext({ when: "before", kind: "answer", status: 500, body: `{"error":{"code":"bug"}}`, kept: true });
    expect(await book(provider, "k1")).toMatchObject({ status: 500, replayed: false });
    expect(await book(provider, "k1")).toMatchObject({ status: 500, replayed: true, body: { error: { code: "bug" } } });
    expect(provider.counts().effects).toBe(0);
  });

  test("takes any text as a key", async () => {
    const provider = await start();
    for (const key of ["__proto__", "constructor", "a/b?c=d&e"]) await book(provider, key);
    expect(Object.entries(provider.counts().byKey)).toEqual(
      ["__proto__", "constructor", "a/b?c=d&e"].map((key) => [key, { requests: 1, effects: 1 }]),
    );
    expect((await lookUp(provider, "a/b?c=d&e")).ids).toEqual(["shp_3"]);
  });
});

test("a provider that ignores keys performs an effect for every request", async () => {
  const provider = await start({ contract: "ignores" });
  expect((await book(provider, "k1")).body.id).toBe("shp_1");
  expect(await book(provider, "k1", "another order")).toEqual({
    status: 201,
    body: { id: "shp_2", ref: "k1" },
    replayed: false,
  });
  expect(provider.counts().byKey).toEqual({ k1: { requests: 2, effects: 2 } });
  expect((await lookUp(provider, "k1")).ids).toEqual(["shp_1", "shp_2"]);
});

describe("a lookup", () => {
  test("finds what was booked by ref or key, and nothing else", async () => {
    const provider = await start();
    await book(provider, "k1");
    await book(provider, "k2");
    expect(await lookUp(provider, "k2")).toEqual({ status: 200, ids: ["shp_2"] });
    expect(await lookUp(provider, "k3")).toEqual({ status: 200, ids: [] });
    expect(provider.counts()).toMatchObject({ requests: 2, lookups: 2 });
  });

  test("says absent of an effect that is still under way", async () => {
    const provider = await start();
    provider.failNext({ when: "before", kind: "hold" });
    const first = book(provider, "k1");
    await eventually(() => provider.held === 1);
    expect((await lookUp(provider, "k1")).ids).toEqual([]);
    provider.release();
    await first;
    expect((await lookUp(provider, "k1")).ids).toEqual(["shp_1"]);
  });

  test("fails as scripted, apart from the faults of bookings", async () => {
    const provider = await start();
    provider.failNextLookup({ when: "before", kind: "answer", status: 503, body: "{}" });
    await book(provider, "k1");
    expect((await lookUp(provider, "k1")).status).toBe(503);
    expect((await lookUp(provider, "k1")).ids).toEqual(["shp_1"]);
  });
});

test("requests are shown as they arrived, with headers and exact body", async () => {
  const provider = await start();
  await book(provider, "k1");
  expect(provider.requests).toMatchObject([
    { method: "POST", url: "/v1/shipments", key: "k1", ref: "k1", body: `{"order":"1042","ref":"k1"}` },
  ]);
  expect(provider.requests[0]?.headers["content-type"]).toBe("application/json");
});

test("other paths, methods and bodies are refused and not counted as effects", async () => {
  const provider = await start();
  const statusOf = async (path: string, init?: RequestInit): Promise<number> =>
    (await fetch(provider.url + path, init)).status;
  expect(await statusOf("/v2")).toBe(404);
  expect(await statusOf("/v1/shipments", { method: "PUT" })).toBe(405);
  expect(await statusOf("/v1/shipments", { method: "POST", body: "{" })).toBe(400);
  expect(await statusOf("/v1/shipments", { method: "POST", body: "1".repeat(1_048_577) })).toBe(400);
  expect(provider.counts().effects).toBe(0);
});

describe("what a provider keeps in a file", () => {
  test("goes on after a restart: counts, keys, ids and kept answers", async () => {
    const file = temporaryFile();
    const before = await start({ file });
    await book(before, "k1");
    await lookUp(before, "k1");
    const counts = before.counts();
    await before.close();

    const after = await start({ file });
    expect(after.counts()).toEqual(counts);
    expect(await book(after, "k1")).toEqual({ status: 201, body: { id: "shp_1", ref: "k1" }, replayed: true });
    expect((await book(after, "k1", "another order")).status).toBe(422);
    expect((await book(after, "k2")).body.id).toBe("shp_2");
  });

  test("survives a torn last line", async () => {
    const file = temporaryFile();
    const before = await start({ file });
    await book(before, "k1");
    const counts = before.counts();
    await before.close();
    appendFileSync(file, `{"kind":"effect","id":"shp_2","bo`);
    const torn = await start({ file });
    expect(torn.counts()).toEqual(counts);
    await book(torn, "k2");
    await torn.close();
    expect((await start({ file })).counts()).toMatchObject({ requests: 2, effects: 2 });
  });

  test("is the same as what one that never stopped remembers, for any requests", async () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("1", "2")), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom("keeps" as const, "ignores" as const), async (requests, contract) => {
        const file = temporaryFile();
        await using steady = await startFakeProvider({ contract });
        for (const [key, order] of requests) {
          await using restarted = await startFakeProvider({ contract, file });
          expect(await book(restarted, key, order)).toEqual(await book(steady, key, order));
        }
        await using last = await startFakeProvider({ contract, file });
        expect(last.counts()).toEqual(steady.counts());
        expect(last.effects).toEqual(steady.effects);
      }),
      { numRuns: 25 },
    );
  });
});

test("counts are served to other processes, and asking for them is not counted", async () => {
  const provider = await start();
  await book(provider, "k1");
  expect(await (await fetch(`${provider.url}/counts`)).json()).toEqual(provider.counts());
  expect(provider.counts()).toMatchObject({ requests: 1, lookups: 0 });
});
