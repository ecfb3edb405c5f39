import { describe, expect, test } from "vitest";
import { headersFromRaw } from "../verify/delivery-headers.ts";
import { answerHandshake, type ChallengeHandshake } from "./handshake.ts";

const handshake: ChallengeHandshake = {
  kind: "challenge",
  tokenParam: "hub.verify_token",
  challengeParam: "hub.challenge",
  token: "a verify token",
};

function ask(
  query: Readonly<Record<string, string>> | string,
  method = "GET",
  spec = handshake,
): ReturnType<typeof answerHandshake> {
  return answerHandshake(spec, { method, query: new URLSearchParams(query), headers: headersFromRaw([]) });
}

describe("answerHandshake() of a challenge", () => {
  const good = { "hub.verify_token": "a verify token", "hub.challenge": "1158201444" };

  test("echoes it as plain text when the token is ours", () => {
    expect(ask(good)).toEqual({
      status: 200,
      headers: {
        "content-type": "text/plain; charset=utf-8",
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
      },
      body: "1158201444",
    });
  });

  test("keeps markup inert: as text, and never sniffed", () => {
    const answer = ask({ ...good, "hub.challenge": "<script>alert(1)</script>" });
    expect(answer?.headers).toMatchObject({
      "content-type": expect.stringContaining("text/plain"),
      "x-content-type-options": "nosniff",
    });
  });

  test.each([
    ["a wrong token", { ...good, "hub.verify_token": "a verify tokeN" }],
    ["a shorter token", { ...good, "hub.verify_token": "a verify toke" }],
    ["a blank token", { ...good, "hub.verify_token": "" }],
    ["no token", { "hub.challenge": "x" }],
    ["two tokens", "hub.verify_token=a+verify+token&hub.verify_token=x&hub.challenge=1"],
  ])("refuses %s without an echo", (_what, query) => {
    expect(ask(query)).toMatchObject({ status: 403, body: "Token refused" });
  });

  test.each([
    ["10 kB", { ...good, "hub.challenge": "<b>".repeat(3_500) }],
    ["1025 characters", { ...good, "hub.challenge": "1".repeat(1_025) }],
    ["two challenges", "hub.verify_token=a+verify+token&hub.challenge=1&hub.challenge=2"],
  ])("refuses %s without an echo, though the token is ours", (_what, query) => {
    expect(ask(query)).toMatchObject({ status: 400, body: "Challenge refused" });
  });

  test("echoes up to 1024 characters", () => {
    expect(ask({ ...good, "hub.challenge": "1".repeat(1_024) })?.status).toBe(200);
  });

  test.each([undefined, "", "changeme", "short"])("never echoes while our token is %j, not even to it", (token) => {
    const query = { ...good, "hub.verify_token": token ?? "" };
    expect(ask(query, "GET", { ...handshake, token })?.status).toBe(403);
  });

  test("leaves every other request to its own path", () => {
    expect(ask(good, "POST")).toBeUndefined();
    expect(ask({ "hub.verify_token": "a verify token" })).toBeUndefined();
    expect(
      answerHandshake(undefined, { method: "GET", query: new URLSearchParams(good), headers: headersFromRaw([]) }),
    ).toBeUndefined();
  });
});

test("answerHandshake() asks a function where the handshake is one", () => {
  const answer = { status: 204, headers: {}, body: "" };
  const request = { method: "HEAD", query: new URLSearchParams(), headers: headersFromRaw([]) };
  expect(answerHandshake(({ method }) => (method === "HEAD" ? answer : undefined), request)).toBe(answer);
  expect(answerHandshake(() => undefined, request)).toBeUndefined();
});
