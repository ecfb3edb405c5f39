/** Signatures that fit any body: each counts for one event. */
import { connect } from "counterfoil";
import { mailgun, sampleDelivery } from "counterfoil/providers";
import { expect, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { startCase } from "../support/case-server.ts";

test("a captured signature of Mailgun's applies nothing to another event", async () => {
  const secret = "the signing key of mailgun";
  const atMs = 1_800_000_000_000;
  const delivered = mailgun.on("delivered", () => undefined);
  const server = await startCase({
    clock: new VirtualClock({ wallMs: atMs }),
    connections: [connect("mailgun", { provider: mailgun, secrets: [secret], tenant: "acme", handlers: [delivered] })],
  });
  const honest = sampleDelivery(mailgun.rules, { secret, type: "delivered", id: "event-1", timestampMs: atMs });
  const forged = { ...honest, body: Buffer.from(Buffer.from(honest.body).toString().replace("event-1", "event-2")) };
  await server.post(honest, "mailgun");
  expect(await server.post(honest, "mailgun")).toMatchObject({ outcome: "duplicate", first: "applied" });
  expect(await server.post(forged, "mailgun")).toMatchObject({ outcome: "suspect" });
  expect(await server.outcomes()).toEqual(["event-1 applied", "event-2 suspect"]);
});
