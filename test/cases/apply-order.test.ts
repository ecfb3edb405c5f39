/** Events about one resource in every order, doubled and at the same time: the same end each time. */
import { connect, effect, resource, type } from "counterfoil";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WorkContext } from "../../src/domain/handler.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { caseSecret, type CaseServer, sender, signedEvent, startCase } from "../support/case-server.ts";

interface Subscription {
  readonly status: string;
}

const tell = effect("tell/v1", {
  input: type<{ id: string; revision: string }>(),
  request: ({ input }) => ({ method: "POST", url: "https://partner.example/v1/changes", json: input }),
  idempotency: "none",
});
const subscription = resource("subscription", { state: type<Subscription>() });

interface Change extends Subscription {
  readonly resource: string;
  readonly revision: number;
}

const changed = sender.on("changed", async ({ event, snapshot, owe }) => {
  const { resource: id, revision, status } = event.data as Change;
  const result = await snapshot(subscription, { id, revision, state: { status } });
  if (result === "applied") await owe(tell, { key: [id, String(revision)], input: { id, revision: String(revision) } });
});
const gone = sender.on("gone", async ({ event, snapshot }) => {
  const { resource: id, revision } = event.data as Change;
  await snapshot(subscription, { id, revision, deleted: true });
});

function mirror(path?: string): Promise<CaseServer> {
  return startCase({
    connections: [
      connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [changed, gone] }),
    ],
    effects: [tell],
    ...(path !== undefined && { path }),
  });
}

function change(id: string, of: string, revision: number, status = `status of ${revision}`) {
  return signedEvent(id, { resource: of, revision, status });
}

async function state({ app }: CaseServer, id: string): Promise<unknown> {
  const found = await app.runtime.store.reader.snapshot({
    connection: "sender",
    account: "",
    kind: "subscription",
    id,
  });
  return found && [found.revision, found.state && (JSON.parse(found.state) as Subscription).status];
}

test("an update before its create, in every permutation and with copies, ends at the newest state", async () => {
  const server = await mirror();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([1, 2, 3, 1, 2, 3], { minLength: 3 }), async (order) => {
      fc.pre(order.includes(3));
      run += 1;
      const id = `subscription-${run}`;
      const applied: number[] = [];
      for (const revision of order) {
        const answer = await server.post(change(`evt-${run}-${revision}`, id, revision));
        if (answer.outcome === "applied") applied.push(revision);
        else expect(answer.outcome).toBe(applied.includes(revision) || answer.first ? "duplicate" : "stale");
      }
      expect(await state(server, id)).toEqual(["3", "status of 3"]);
      // Each move that happened is told, and no other.
      expect(applied).toEqual(applied.toSorted((a, b) => a - b));
      const told = (await server.owed()).filter((key) => key.startsWith(`acme/${id}/`));
      expect(told).toEqual(applied.map((revision) => `acme/${id}/${revision}`));
    }),
    { numRuns: 40 },
  );
});

test("a late older state changes nothing, is told stale, and owes nothing", async () => {
  const server = await mirror();
  expect(await server.post(change("evt-5", "s", 5))).toMatchObject({ status: 200, outcome: "applied" });
  expect(await server.post(change("evt-3", "s", 3))).toMatchObject({ status: 200, outcome: "stale" });
  expect(await state(server, "s")).toEqual(["5", "status of 5"]);
  expect(await server.owed()).toEqual(["acme/s/5"]);
});

test("many events of one resource at once, over three processes, end at the newest, whoever created it", async () => {
  const server = await mirror();
  const file = new URL("../children/mirror.ts", import.meta.url);
  await using stack = new AsyncDisposableStack();
  const children = Array.from({ length: 3 }, () =>
    stack.use(startProcess(file, { arguments: [server.database.address] })),
  );
  for (let round = 0; round < 15; round += 1) {
    const answers = await Promise.all(
      children.map((child, n) =>
        child.ask("receive", { id: `evt-${round}-${n}`, resource: `s-${round}`, revision: n + 1 }),
      ),
    );
    expect(answers.every((outcome) => outcome === "applied" || outcome === "stale")).toBe(true);
    expect(answers[2]).toBe("applied");
    expect(await state(server, `s-${round}`)).toEqual(["3", "status of 3"]);
  }
});

describe("one revision with two contents", () => {
  test.each([[["active", "canceled"]], [["canceled", "active"]]])(
    "is a conflict whichever comes first (%j): what is kept stays, nothing is owed, and the operator is asked",
    async ([first = "", second = ""]) => {
      const server = await mirror();
      expect(await server.post(change("evt-1", "s", 7, first))).toMatchObject({ status: 200, outcome: "applied" });
      expect(await server.post(change("evt-2", "s", 7, second))).toMatchObject({ status: 202, outcome: "conflict" });
      expect(await server.post(change("evt-1", "s", 7, first))).toMatchObject({
        outcome: "duplicate",
        first: "applied",
      });
      expect(await server.post(change("evt-3", "s", 7, first))).toMatchObject({ status: 200, outcome: "applied" });
      expect(await state(server, "s")).toEqual(["7", first]);
      expect(await server.owed()).toEqual(["acme/s/7"]);
      expect(await server.app.operator({ who: "test" }).attention()).toMatchObject([
        { kind: "receipt", receipt: { eventId: "evt-2", outcome: "conflict" } },
      ]);
      // A newer revision decides without anybody's help.
      expect(await server.post(change("evt-4", "s", 8))).toMatchObject({ outcome: "applied" });
      expect(await state(server, "s")).toEqual(["8", "status of 8"]);
    },
  );
});

test("a resource that was deleted is not woken by what was sent before", async () => {
  const server = await mirror();
  await server.post(change("evt-1", "s", 1));
  await server.post(signedEvent("evt-3", { resource: "s", revision: 3 }, { type: "gone" }));
  expect(await server.post(change("evt-2", "s", 2))).toMatchObject({ outcome: "stale" });
  expect(await state(server, "s")).toEqual(["3", null]);
});

test("distinct events of one resource are distinct, and all are kept", async () => {
  const server = await mirror();
  const answers = [1, 2, 3].map((revision) => server.post(change(`evt-${revision}`, "s", revision)));
  expect((await Promise.all(answers)).every(({ status }) => status === 200)).toBe(true);
  expect(await server.outcomes()).toHaveLength(3);
  expect(await state(server, "s")).toEqual(["3", "status of 3"]);
});

describe("a snapshot that cannot be taken", () => {
  test.each([[1.5], ["2026-01-01T00:00:00Z"], [Number.MAX_SAFE_INTEGER + 1], [""]])(
    "such as one of revision %j fails its handler and leaves nothing",
    async (revision) => {
      const server = await mirror();
      const taken = server.app.transaction({ tenant: "acme", connection: "sender" }, ({ snapshot }: WorkContext) =>
        snapshot(subscription, { id: "s", revision, state: { status: "x" } }),
      );
      await expect(taken).rejects.toThrow(/revision/);
      expect(await state(server, "s")).toBeUndefined();
    },
  );
});
