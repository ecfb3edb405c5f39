/**
 * Every preset over real HTTP: what its own signer makes, in pieces cut anywhere, is taken as what it is,
 * and the bytes kept are the bytes sent. Handshakes are answered, and never leave a receipt.
 */
import { createHmac } from "node:crypto";
import { connect, type ConnectOptions } from "counterfoil";
import {
  catalogue,
  describeProvider,
  type ProviderData,
  sampleDelivery,
  type SignedDelivery,
} from "counterfoil/providers";
import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { parseBody } from "../../src/parse/parse-body.ts";
import {
  chunkedBytes,
  openRaw,
  type RawAnswer,
  rawExchange,
  type RawRequest,
  requestBytes,
} from "../../src/testing/raw-http.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { signsUrl } from "../../src/verify/scheme.ts";
import { signRequest } from "../../src/verify/sign-request.ts";
import { canSign } from "../../src/verify/sign.ts";
import { fetchFixture, presetKey, publicUrl } from "../kit/preset-keys.ts";
import { type CaseServer, startCase } from "../support/case-server.ts";

vi.setConfig({ testTimeout: 180_000 });

const atMs = 1_800_000_000_000;
const token = "a token for handshakes";
const presets = Object.values(catalogue);

function connectionOf(provider: ProviderData, more: Partial<ConnectOptions<string>> = {}): ReturnType<typeof connect> {
  return connect(provider.name, {
    provider,
    secrets: [presetKey(provider, 1).configured],
    tenant: "acme",
    handlers: [],
    publicUrl,
    fetchKey: fetchFixture,
    ...more,
  });
}

/** LINE waits for two seconds at most, so the limits have to be below. */
function start(connections: ReturnType<typeof connect>[]): Promise<CaseServer> {
  return startCase({ clock: new VirtualClock({ wallMs: atMs }), limits: { lockMs: 500 }, connections });
}

function sample({ rules }: ProviderData, id: string, type = Object.keys(rules.samples)[0] ?? ""): SignedDelivery {
  const { signing } = presetKey({ rules } as ProviderData, 1);
  return sampleDelivery(rules, { secret: signing, type, id, timestampMs: atMs, publicUrl });
}

/** Whether a second sample looks like the first under another id that nobody signed. */
function isReplay({ rules }: ProviderData): boolean {
  const { id, singleUse } = rules.identity;
  const { id: text } = describeProvider(rules);
  return text.endsWith("(not signed)") && (singleUse !== undefined || JSON.stringify(id).includes('"header"'));
}

async function postInPieces(
  { port }: CaseServer,
  path: string,
  {
    delivery: { headers, body, suffix = "" },
    cuts,
  }: { readonly delivery: SignedDelivery; readonly cuts: readonly number[] },
): Promise<RawAnswer> {
  const ends = [...new Set(cuts.map((cut) => cut % body.length))].toSorted((left, right) => left - right);
  const parts = [0, ...ends].map((from, index) => body.subarray(from, ends[index] ?? body.length));
  await using raw = await openRaw(port);
  const coded = [...Object.entries(headers), ["transfer-encoding", "chunked"]] as [string, string][];
  await raw.send(requestBytes({ path: `${path}${suffix}`, headers: coded }));
  await raw.send(chunkedBytes(...parts));
  return await raw.read();
}

test("what each preset signs is taken in any pieces, and kept byte for byte", async () => {
  const server = await start(presets.map((provider) => connectionOf(provider)));
  const { reader } = server.app.runtime.store;
  for (const provider of presets) {
    let run = 0;
    const cuts = fc.array(fc.nat(), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(cuts, async (at) => {
        run += 1;
        const delivery = sample(provider, `${provider.name}-${run}`);
        const { status } = await postInPieces(server, `/hooks/${provider.name}`, { delivery, cuts: at });
        const [receipt] = await reader.receipts({ connection: provider.name }, { limit: 1 });
        const payload = receipt && (await reader.payload(receipt.id));
        const outcome = run > 1 && isReplay(provider) ? "suspect" : "ignored";
        expect([provider.name, Math.floor(status / 100), receipt?.outcome]).toEqual([provider.name, 2, outcome]);
        const kept = Buffer.from(payload?.bytes ?? "").toString();
        const sent = Buffer.from(delivery.body).toString();
        // Of a batch an event keeps its item, as it stands there.
        expect(provider.rules.batch === undefined ? kept === sent : sent.includes(kept)).toBe(true);
      }),
      { numRuns: 3 },
    );
  }
});

test("who signs the URL is believed for the configured one, whatever a forwarded header says", async () => {
  const signers = presets.filter(({ rules }) => rules.schemes.some(signsUrl));
  expect(signers.map(({ name }) => name)).toEqual(expect.arrayContaining(["square", "trello", "hubspot", "twilio"]));
  const server = await start(signers.map((provider) => connectionOf(provider)));
  const forged = {
    "x-forwarded-host": "evil.example",
    "x-forwarded-proto": "https",
    "x-forwarded-port": "443",
    "x-original-url": "https://evil.example/hook",
    forwarded: "host=evil.example;proto=https",
  };
  for (const provider of signers) {
    const { rules, name } = provider;
    const { signing } = presetKey(provider, 1);
    const [type = ""] = Object.keys(rules.samples);
    const post = async (url: string, id: string): Promise<number> => {
      const delivery = sampleDelivery(rules, { secret: signing, type, id, timestampMs: atMs, publicUrl: url });
      const { headers, body, suffix = "" } = delivery;
      const all = Object.entries({ ...headers, ...forged });
      return (await rawExchange(server.port, { path: `/hooks/${name}${suffix}`, headers: all, body })).status;
    };
    expect([name, await post("https://evil.example/hook", `${name}-evil`)]).toEqual([name, 401]);
    expect([name, Math.floor((await post(publicUrl, `${name}-own`)) / 100)]).toEqual([name, 2]);
  }
});

test("a delivery signed by nobody leaves nothing at any preset", async () => {
  const server = await start(presets.map((provider) => connectionOf(provider)));
  for (const provider of presets) {
    const { headers, body } = sample(provider, "forged");
    const proofs = new Set(["content-type", "x-github-event"]);
    const bare = Object.entries(headers).filter(([name]) => proofs.has(name));
    const forged = parseBody(body, provider.plan).kind === "parsed" ? "{}" : body;
    const answer = await rawExchange(server.port, { path: `/hooks/${provider.name}`, headers: bare, body: forged });
    const wanted = provider.rules.answers.SIGNATURE_REFUSED ?? 401;
    expect([provider.name, answer.status]).toEqual([provider.name, wanted]);
  }
  expect(await server.outcomes()).toEqual([]);
});

describe("a handshake", () => {
  async function ask(
    name: string,
    request: RawRequest,
    more: Partial<ConnectOptions<string>> = {},
  ): Promise<RawAnswer> {
    const provider = catalogue[name];
    if (provider === undefined) throw new Error(name);
    const server = await start([connectionOf(provider, more)]);
    const answer = await rawExchange(server.port, { ...request, path: `/hooks/${provider.name}${request.path ?? ""}` });
    expect(await server.outcomes()).toEqual([]);
    return answer;
  }

  function question(name: string, body: object, number: 1 | 2 = 1): RawRequest {
    const provider = catalogue[name];
    if (provider === undefined) throw new Error(name);
    const { signing } = presetKey(provider, number);
    const scheme = provider.rules.schemes.find((each) => canSign(each, signing)) ?? provider.rules.schemes[0];
    const input = { body: Buffer.from(JSON.stringify(body)), timestampMs: atMs };
    const signed = signRequest(scheme, signing, input);
    return { headers: [["content-type", "application/json"], ...Object.entries(signed.headers)], body: signed.body };
  }

  const zoom = { event: "endpoint.url_validation", payload: { plainToken: "plain" } };
  const encryptedToken = createHmac("sha256", "a shared secret, 1").update("plain").digest("hex");
  test.each<readonly [string, object, number, string]>([
    ["slack", { type: "url_verification", challenge: "<b>challenge</b>" }, 200, "<b>challenge</b>"],
    ["zoom", zoom, 200, JSON.stringify({ plainToken: "plain", encryptedToken })],
    ["discord", { version: 1, application_id: "1", type: 0 }, 204, ""],
    ["discordInteractions", { application_id: "1", type: 1 }, 200, '{"type":1}'],
  ])("of %s is answered once its signature is right, and only then", async (name, body, status, text) => {
    const answer = await ask(name, question(name, body));
    expect([answer.status, answer.body.toString()]).toEqual([status, text]);
    const { status: refused } = await ask(name, question(name, body, 2));
    expect(refused).toBe(401);
    expect(
      (await ask(name, { headers: [["content-type", "application/json"]], body: JSON.stringify(body) })).status,
    ).toBe(401);
  });

  test("of Slack echoes nothing that is no text", async () => {
    expect((await ask("slack", question("slack", { type: "url_verification", challenge: { a: 1 } }))).status).toBe(400);
  });

  test.each([
    ["dropbox", "GET", "?challenge=abc"],
    ["msgraph", "POST", "?validationToken=abc"],
    ["meta", "GET", `?hub.mode=subscribe&hub.verify_token=${encodeURIComponent(token)}&hub.challenge=abc`],
  ])("of %s echoes its challenge as inert text", async (name, method, path) => {
    const answer = await ask(name, { method, path }, { handshake: { token } });
    expect([answer.status, answer.body.toString()]).toEqual([200, "abc"]);
    expect(answer.headers).toContainEqual(["x-content-type-options", "nosniff"]);
    expect(answer.headers).toContainEqual(["content-type", "text/plain; charset=utf-8"]);
  });

  test("of Meta is refused without the token that the connection has", async () => {
    const path = `?hub.mode=subscribe&hub.verify_token=${encodeURIComponent(token)}&hub.challenge=abc`;
    expect((await ask("meta", { method: "GET", path })).status).toBe(403);
    const other = { handshake: { token: `${token}!` } };
    expect((await ask("meta", { method: "GET", path }, other)).status).toBe(403);
  });

  test("of Trello says that somebody is there", async () => {
    expect((await ask("trello", { method: "HEAD" })).status).toBe(200);
  });

  test("of WooCommerce is a form of one number, and nothing else passes for it", async () => {
    const form = [["content-type", "application/x-www-form-urlencoded"]] as const;
    expect((await ask("woocommerce", { headers: form, body: "webhook_id=17" })).status).toBe(200);
    expect((await ask("woocommerce", { headers: form, body: "webhook_id=17&order=1" })).status).toBe(415);
  });

  test("of Asana and Notion hands over a secret only while the connection wants one", async () => {
    const taken: string[] = [];
    const onSecret = (secret: string): boolean => taken.push(secret) > 0;
    const asana = { headers: [["x-hook-secret", "b537207f20cbfa02"]] as const, body: "" };
    const notion = { body: '{"verification_token":"secret_token_of_notion"}' };
    const echoed = await ask("asana", asana, { handshake: { onSecret } });
    expect([echoed.status, (await ask("notion", notion, { handshake: { onSecret } })).status]).toEqual([200, 200]);
    expect(echoed.headers).toContainEqual(["x-hook-secret", "b537207f20cbfa02"]);
    expect(taken).toEqual(["b537207f20cbfa02", "secret_token_of_notion"]);
    expect([(await ask("asana", asana)).status, (await ask("notion", notion)).status]).toEqual([403, 403]);
    // A handshake's shape with more in it is no handshake.
    const event = { body: '{"verification_token":"secret_token_of_notion","id":"1","type":"page.created"}' };
    expect((await ask("notion", event, { handshake: { onSecret } })).status).toBe(401);
  });

  test.each([
    ["xero", ""],
    ["line", '{"items":[]}'],
    ["asana", '{"items":[]}'],
  ])(
    "of %s, or its heartbeat, is an empty batch: 200 where it is signed, and 401 where it is not",
    async (name, body) => {
      const right = await ask(name, question(name, { events: [] }));
      const wrong = await ask(name, question(name, { events: [] }, 2));
      expect([right.status, right.body.toString(), wrong.status]).toEqual([200, body, 401]);
    },
  );

  test("is tried above for every preset that has one", () => {
    const questions = ["slack", "zoom", "discord", "discordInteractions"];
    const others = ["asana", "dropbox", "meta", "msgraph", "notion", "trello", "woocommerce"];
    const greeting = Object.keys(catalogue).filter((name) => catalogue[name]?.rules.handshake !== undefined);
    expect(greeting.toSorted()).toEqual([...questions, ...others].toSorted());
  });
});
