/** Secrets that are none, and secrets that change: no way from "could not verify" to "accepted". */
import { createHmac } from "node:crypto";
import { type App, connect, defineApp } from "counterfoil";
import { signDelivery, type SignedDelivery } from "counterfoil/providers";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";
import { storeAt } from "../support/engine.ts";
import { ownDatabase } from "../support/own-database.ts";

function connection(...secrets: readonly (string | undefined)[]): ReturnType<typeof connect> {
  return connect("sender", { provider: sender, secrets, tenant: "acme", handlers: [] });
}

const body = Buffer.from('{"id":"evt-1","type":"changed","data":{}}');

describe("a secret that is none", () => {
  const useless = ["", "   ", "undefined", "null", "changeme", "7 bytes", undefined];

  test.each(useless.map((secret) => [secret]))("%j stops a receiver, and lets an operator look", async (secret) => {
    const app = defineApp({
      store: storeAt((await ownDatabase()).address),
      connections: [connection(secret)],
      effects: [],
    });
    onTestFinished(() => app.stop());
    const problem = { code: "CONFIG_INVALID", message: expect.stringMatching(/^Cannot serve connection "sender": /) };
    await expect(app.start()).rejects.toMatchObject(problem);
    await expect(app.listen({ port: 0 })).rejects.toMatchObject(problem);
    await app.open();
    expect((await app.operator({ who: "test" }).status()).receipts).toEqual({});
  });

  test.each(useless.map((secret) => [secret]))(
    "%j opens no door where hooks are mounted without a start, not even to what it signed",
    async (secret) => {
      const clock = new VirtualClock();
      const store = storeAt((await ownDatabase()).address, { clock });
      const app = defineApp({ store, connections: [connection(secret)], effects: [] });
      onTestFinished(() => app.stop());
      const signatures = [secret ?? "", caseSecret].map((key) => createHmac("sha256", key).update(body).digest("hex"));
      for (const signature of [...signatures, "", undefined]) {
        expect(
          await mounted(app, {
            "content-type": "application/json",
            ...(signature !== undefined && { "x-signature": signature }),
          }),
        ).toBe(401);
      }
      clock.advance(1_000);
      const { receipts, refusals } = await eventually(async () => {
        const status = await app.operator({ who: "test" }).status();
        return Object.keys(status.refusals).length > 0 && status;
      });
      expect({ receipts, refusals }).toEqual({ receipts: {}, refusals: { no_usable_secret: 4 } });
    },
  );

  async function mounted(app: App, headers: Readonly<Record<string, string>>): Promise<number> {
    const request = new Request("http://localhost/hooks/sender", { method: "POST", headers, body });
    return (await app.fetch(request)).status;
  }
});

test("a rotation loses nothing: both secrets count while both are set, and each receipt says which it was", async () => {
  const [a, b, c] = ["the first secret", "the second secret", "the secret of somebody else"];
  const by = (secret: string, id: string): SignedDelivery =>
    signDelivery(sender.rules, secret, { body: signedEvent(id).body, timestampMs: 0 });
  let database: CaseServer["database"] | undefined;
  const phase = async (...secrets: readonly string[]): Promise<CaseServer> => {
    const server = await startCase({
      connections: [connection(...secrets)],
      ...(database !== undefined && { database }),
    });
    ({ database } = server);
    return server;
  };
  const statuses = async ({ post }: CaseServer, name: string): Promise<readonly number[]> =>
    Promise.all([a, b, c].map(async (secret, n) => (await post(by(secret, `${name}-${n}`))).status));

  expect(await statuses(await phase(a), "before")).toEqual([200, 401, 401]);
  const overlap = await phase(b, a);
  expect(await statuses(overlap, "during")).toEqual([200, 200, 401]);
  // Sent before the rotation, delivered in it.
  expect(await overlap.post(by(a, "queued"))).toMatchObject({ status: 200 });
  const after = await phase(b);
  expect(await statuses(after, "after")).toEqual([401, 200, 401]);

  const receipts = await after.app.operator({ who: "test" }).receipts();
  const secretIds = Object.fromEntries(receipts.map(({ eventId, secretId }) => [eventId, secretId]));
  const [idOfA, idOfB] = [secretIds["before-0"], secretIds["after-1"]];
  expect(idOfA).not.toBe(idOfB);
  expect(secretIds).toEqual({
    "before-0": idOfA,
    "during-0": idOfA,
    "during-1": idOfB,
    queued: idOfA,
    "after-1": idOfB,
  });
});
