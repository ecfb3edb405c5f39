/** What no row says by itself: connections that fell silent or refuse everything, and secrets that end. */
import { type Attention, connect, type ConnectOptions } from "counterfoil";
import { expect, test } from "vitest";
import { describeAttention } from "../../src/operator/describe-attention.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import {
  type CaseOptions,
  type CaseServer,
  caseSecret,
  sender,
  signedEvent,
  startCase,
} from "../support/case-server.ts";

const hour = 3_600_000;
const day = 24 * hour;
const start = Date.UTC(2026, 0, 1);

interface Watched extends CaseServer {
  /** What was told, each as "kind name state". */
  readonly told: string[];
  readonly listed: () => Promise<readonly string[]>;
  readonly found: (subject: string) => Promise<readonly string[]>;
}

function textOf(item: Attention): string {
  const { kind, name, state } = describeAttention(item);
  return `${kind} ${name} ${state}`;
}

async function serverOf(
  more: Partial<ConnectOptions<"sender">>,
  options: CaseOptions & { readonly clock: VirtualClock },
): Promise<Watched> {
  const told: string[] = [];
  const handlers = [sender.on("changed", async () => undefined)];
  const server = await startCase({
    connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers, ...more })],
    onAttention: (items) => void told.push(...items.map(textOf)),
    ...options,
  });
  return {
    ...server,
    told,
    listed: async () => (await server.app.operator({ who: "ada" }).attention()).map(textOf),
    found: async (subject) =>
      (await server.app.doctor()).filter((one) => one.subject === subject).map(({ says }) => says),
  };
}

const drain = ({ app }: CaseServer): Promise<void> => app.drain({ budget: "1ms" });
const clockAt = (wallMs = start): VirtualClock => new VirtualClock({ wallMs });

test("a connection that has had events and falls silent is told once, until one comes, and then anew", async () => {
  const clock = clockAt();
  const server = await serverOf({ silentAfter: "6h" }, { clock });
  expect(await server.found("silence")).toEqual(["connection sender has never had an event"]);
  clock.advance(day);
  await drain(server);
  expect(server.told).toEqual([]);
  expect(await server.post(signedEvent("e1"))).toMatchObject({ status: 200 });
  clock.advance(6 * hour);
  expect(await server.listed()).toEqual([]);
  clock.advance(1);
  expect(await server.listed()).toEqual(["silence sender silent"]);
  expect(await server.found("silence")).toEqual(["sender: no new event since 2026-01-02T00:00:00.000Z"]);
  await drain(server);
  await drain(server);
  expect(server.told).toEqual(["silence sender silent"]);
  await server.post(signedEvent("e2"));
  await drain(server);
  expect(await server.found("watched")).toHaveLength(1);
  clock.advance(day);
  await drain(server);
  expect(server.told).toEqual(["silence sender silent", "silence sender silent"]);
});

test("a process without the setting does not make a silence news again", async () => {
  const clock = clockAt();
  const server = await serverOf({ silentAfter: "6h" }, { clock });
  await server.post(signedEvent("e1"));
  clock.advance(day);
  await drain(server);
  const other = await serverOf({}, { clock, database: server.database });
  await drain(other);
  await drain(server);
  expect([...server.told, ...other.told]).toEqual(["silence sender silent"]);
});

test("a connection of which everything is refused is told, by cause; one that takes something is not", async () => {
  const clock = clockAt();
  const server = await serverOf({}, { clock });
  const refuse = async (times: number): Promise<void> => {
    for (let index = 0; index < times; index += 1) {
      const { headers, body } = signedEvent(`e${index}`);
      await server.post({ headers, body: Buffer.concat([body, Buffer.from(" ")]) });
    }
    // What is refused is written at most once a second.
    clock.advance(1_000);
  };
  const says = (times: number): string => `connection sender in the last hour: refused signature_mismatch ${times}`;
  await refuse(9);
  await eventually(async () => (await server.found("refusals")).includes(says(9)));
  expect(await server.listed()).toEqual([]);
  await refuse(1);
  await eventually(async () => (await server.found("refusals")).includes(says(10)));
  expect(await server.listed()).toEqual(["refusals sender refusing"]);
  await drain(server);
  expect(server.told).toEqual(["refusals sender refusing"]);
  await server.post(signedEvent("good"));
  expect(await server.listed()).toEqual([]);
  clock.advance(hour);
  expect(await server.found("refusals")).toEqual([]);
});

test("a secret is told a week before its end where none lasts longer, and once it is over; never its text", async () => {
  const clock = clockAt();
  const until = new Date(start + 30 * day).toISOString();
  const server = await serverOf({ secrets: [{ secret: caseSecret, until }, undefined] }, { clock });
  clock.advance(23 * day - 1);
  expect(await server.listed()).toEqual([]);
  clock.advance(1);
  expect(await server.listed()).toEqual([expect.stringMatching(/^secret sender [0-9a-f]{8} ending$/)]);
  expect((await server.found("secrets")).join()).toContain("it ends at 2026-01-31T00:00:00.000Z");
  const rotated = await serverOf(
    { secrets: [`${caseSecret}x`, { secret: caseSecret, until }] },
    { clock, database: server.database },
  );
  expect(await rotated.listed()).toEqual([]);
  clock.advance(7 * day);
  expect(await rotated.listed()).toEqual([expect.stringMatching(/ ended$/)]);
  expect(await rotated.post(signedEvent("e1"))).toMatchObject({ status: 200 });
  await drain(rotated);
  expect(rotated.told).toHaveLength(1);
  expect(JSON.stringify([rotated.told, await rotated.app.doctor()])).not.toContain(caseSecret);
});

test("what is watched comes first, and its pages lead into the rest of the list", async () => {
  const clock = clockAt();
  const server = await serverOf({ silentAfter: "6h" }, { clock });
  const operator = server.app.operator({ who: "ada" });
  await server.post(signedEvent("e1"));
  clock.advance(day);
  for (const name of ["a", "b"]) await operator.pause({ destination: `https://${name}.example`, reason: "x" });
  const seen: string[] = [];
  for (let after: string | undefined; ;) {
    const [item] = await operator.attention({ after, limit: 1 });
    if (item === undefined) break;
    seen.push(textOf(item));
    after = item.cursor;
  }
  expect(seen).toEqual([
    "silence sender silent",
    "destination https://a.example paused",
    "destination https://b.example paused",
  ]);
});

test("an end that is no time is refused, with what to write", async () => {
  const clock = clockAt();
  await expect(serverOf({ secrets: [{ secret: caseSecret, until: "next year" }] }, { clock })).rejects.toThrow(
    "a secret's until is no time; write such as 2027-01-31",
  );
});
