/** Handshakes over HTTP: answered before the event path, to whoever knows the token, and never an event. */
import { connect } from "counterfoil";
import { generic } from "counterfoil/providers";
import { expect, test } from "vitest";
import { startFakeProvider } from "../../src/testing/fake-provider.ts";
import { headerValues, rawExchange } from "../../src/testing/raw-http.ts";
import { caseSecret, sender, signedEvent, startCase } from "../support/case-server.ts";

const token = "the token that we gave them";
const meta = generic({
  name: "meta",
  signature: { kind: "hmac", header: "x-signature" },
  identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
  handshake: { kind: "challenge", tokenParam: "hub.verify_token", challengeParam: "hub.challenge", token },
});

test("an address to confirm that a delivery names, signed or not, is asked by nobody", async () => {
  await using inside = await startFakeProvider();
  const server = await startCase({
    connections: [connect("sender", { provider: sender, secrets: [caseSecret], tenant: "acme", handlers: [] })],
  });
  const subscribe = { SubscribeURL: `${inside.url}/v1/shipments`, TopicArn: "arn:topic" };
  const signed = signedEvent("evt-1", subscribe, { type: "SubscriptionConfirmation" });
  const forged = { ...signed, headers: { ...signed.headers, "x-signature": "00" } };
  expect(await server.post(forged)).toMatchObject({ status: 401 });
  expect(await server.post(signed)).toMatchObject({ status: 200, outcome: "ignored" });
  await server.app.drain({ budget: "1ms" });
  expect(inside.requests).toEqual([]);
});

test("a challenge is echoed as inert text to our token only, and leaves no event behind", async () => {
  const server = await startCase({
    connections: [connect("meta", { provider: meta, secrets: [caseSecret], tenant: "acme", handlers: [] })],
  });
  const ask = (query: Readonly<Record<string, string>>) =>
    rawExchange(server.port, { method: "GET", path: `/hooks/meta?${new URLSearchParams(query).toString()}` });
  const markup = "<script>alert(1)</script>";
  const echoed = await ask({ "hub.verify_token": token, "hub.challenge": markup });
  expect([echoed.status, echoed.body.toString()]).toEqual([200, markup]);
  expect(headerValues(echoed, "content-type")[0]).toMatch(/^text\/plain/);
  expect(headerValues(echoed, "x-content-type-options")).toEqual(["nosniff"]);
  const refused = [
    { "hub.verify_token": "another token", "hub.challenge": markup },
    { "hub.verify_token": "", "hub.challenge": markup },
    { "hub.challenge": markup },
    { "hub.verify_token": token, "hub.challenge": "x".repeat(10_000) },
  ];
  for (const query of refused) {
    const answer = await ask(query);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.body.toString()).not.toContain(query["hub.challenge"].slice(0, 8));
  }
  expect(await server.outcomes()).toEqual([]);
  expect(await server.post(signedEvent("evt-1"), "meta")).toMatchObject({ status: 200, outcome: "ignored" });
  expect(await server.outcomes()).toEqual(["evt-1 ignored"]);
});
