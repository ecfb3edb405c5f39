import { expect, test } from "vitest";
import { generic } from "../providers/generic.ts";
import { github } from "../providers/github.ts";
import { standardWebhooks } from "../providers/standard-webhooks.ts";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { keptHeaders } from "./kept-headers.ts";

const sent = headersFromRaw(
  Object.entries({
    Authorization: "Bearer canary",
    Cookie: "canary",
    "Content-Type": "application/json",
    "Webhook-Id": "msg_1",
    "Webhook-Timestamp": "1",
    "Webhook-Signature": "v1,sig",
    "X-GitHub-Delivery": "72d3162e",
    "X-GitHub-Event": "push",
    "X-Hub-Signature-256": "sha256=00",
    "X-Token": "canary",
    "X-Id": "1",
  }).flat(),
);

test("what verifies and what identifies a delivery is kept, and nothing else of it", () => {
  expect(JSON.parse(keptHeaders(standardWebhooks.rules, sent))).toEqual([
    ["content-type", "application/json"],
    ["webhook-signature", "v1,sig"],
    ["webhook-timestamp", "1"],
    ["webhook-id", "msg_1"],
  ]);
  expect(JSON.parse(keptHeaders(github.rules, sent))).toEqual([
    ["content-type", "application/json"],
    ["x-hub-signature-256", "sha256=00"],
    ["x-github-delivery", "72d3162e"],
    ["x-github-event", "push"],
  ]);
});

test("a token is a secret, and not kept", () => {
  const { rules } = generic({
    signature: { kind: "token", header: "x-token" },
    identity: { id: { from: "header", name: "x-id" }, type: { from: "header", name: "x-absent" } },
  });
  expect(JSON.parse(keptHeaders(rules, sent))).toEqual([
    ["content-type", "application/json"],
    ["x-id", "1"],
  ]);
});
