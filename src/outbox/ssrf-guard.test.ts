import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { describe, expect, test } from "vitest";
import {
  checkDestination,
  DestinationRefused,
  guardedLookup,
  hostOf,
  originProblem,
  systemResolve,
} from "./ssrf-guard.ts";

const inside = { address: "127.0.0.1", family: 4 };
const outside = { address: "93.184.216.34", family: 4 };
const outside6 = { address: "2606:2800:220:1::1", family: 6 };

describe("a destination", () => {
  test.each([
    "https://api.example/v1/shipments?ref=1",
    "https://api.example:443/",
    "https://api.example:8443/",
    "https://93.184.216.34/",
    "https://[2606:2800:220:1::1]/",
    "https://bücher.example/",
  ])("%s may be called", (url) => {
    expect(checkDestination(url, { allow: [] }).kind).toBe("public");
  });

  test.each([
    "https://127.0.0.1/",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://127.0.0.1./",
    "https://①②⑦.⓪.⓪.①/",
    "https://１２７.０.０.１/",
    "https://%31%32%37.0.0.1/",
    "https://0/",
    "https://0.0.0.0/",
    "https://10.0.0.1:8443/",
    "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://2852039166/",
    "https://0xa9fea9fe/",
    "https://0251.0376.0251.0376/",
    "https://172.16.0.1/",
    "https://192.168.0.1/",
    "https://198.18.0.1/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://[::]/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::127.0.0.1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::169.254.169.254]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:db8::1]/",
    "https://[fc00::1]/",
    "https://[fd00::1]/",
    "https://[fe80::1]/",
    "https://[ff02::1]/",
  ])("%s is refused for its address", (url) => {
    expect(checkDestination(url, { allow: [] })).toEqual({
      kind: "refused",
      reason: `its address is not public; if that is meant, give its effect allow: ["${new URL(url).origin}"]`,
    });
  });

  test.each([
    ["http://api.example/v1?q=1", 'not https; if that is meant, give its effect allow: ["http://api.example"]'],
    ["ftp://api.example/", "neither https nor http"],
    ["file:///etc/passwd", "neither https nor http"],
    ["data:,x", "neither https nor http"],
    ["javascript:1", "neither https nor http"],
    ["https://user:pass@api.example/", "credentials"],
    ["https://user@api.example/", "credentials"],
    ["https://:pass@api.example/", "credentials"],
    ["https://api.example@127.0.0.1/", "credentials"],
    ["https://api.example:22/", 'port belongs to another service; if that is meant, give its effect allow: ["https'],
    ["https://api.example:25/", "port"],
    ["https://api.example:0/", "port"],
    ["https://api.example:80/", "port"],
    ["/v1/shipments", "not an absolute URL"],
    ["//api.example/", "not an absolute URL"],
    ["https://", "not an absolute URL"],
    ["https://[fe80::1%25eth0]/", "not an absolute URL"],
    ["https://256.1.1.1/", "not an absolute URL"],
    ["", "not an absolute URL"],
  ])("%s is refused: %s", (url, reason) => {
    const destination = checkDestination(url, { allow: [] });
    expect(destination.kind).toBe("refused");
    expect((destination as { reason: string }).reason).toContain(reason);
  });

  test("an allowed origin may be plain http and inside, in any spelling of the same origin", () => {
    const allow = ["http://127.0.0.1:4601", "https://carrier.internal"];
    for (const url of ["http://127.0.0.1:4601/v1", "http://127.1:4601/", "HTTPS://CARRIER.internal:443/x"]) {
      expect(checkDestination(url, { allow }).kind, url).toBe("allowed");
    }
  });

  test.each([
    "http://127.0.0.1:4602/",
    "https://127.0.0.1:4601/",
    "http://127.0.0.1:46010/",
    "http://carrier.internal/",
    "http://user:pass@127.0.0.1:4601/",
  ])("%s is not covered by another origin's allowance", (url) => {
    const allow = ["http://127.0.0.1:4601", "https://carrier.internal"];
    expect(checkDestination(url, { allow }).kind).toBe("refused");
  });

  test("an allowed name stands neither for its subdomains nor for names that begin with it", () => {
    const allow = ["https://carrier.internal"];
    expect(checkDestination("https://a.carrier.internal/", { allow }).kind).toBe("public");
    expect(checkDestination("https://carrier.internal.evil.test/", { allow }).kind).toBe("public");
  });
});

test.each([
  ["https://carrier.internal", undefined],
  ["http://127.0.0.1:4601", undefined],
  ["http://[::1]:4601", undefined],
  ["https://carrier.internal/", 'write "https://carrier.internal"'],
  ["https://carrier.internal:443", 'write "https://carrier.internal"'],
  ["http://127.1:80/v1", 'write "http://127.0.0.1"'],
  ["carrier.internal", "not an http or https origin"],
  ["*", "not an http or https origin"],
  ["ftp://carrier.internal", "not an http or https origin"],
])("the allow list entry %s is judged: %s", (origin, problem) => {
  if (problem === undefined) expect(originProblem(origin)).toBeUndefined();
  else expect(originProblem(origin)).toContain(problem);
});

describe("a lookup", () => {
  test("hands on every address when all are public, or the first one if one is asked for", async () => {
    const lookup = guardedLookup("public", async () => [outside, outside6]);
    expect(await all(lookup)).toEqual([outside, outside6]);
    expect(await one(lookup)).toEqual(outside);
  });

  test.each([
    ["the only", [inside]],
    ["the last", [outside, outside6, inside]],
    ["the first", [inside, outside]],
    ["a mapped", [outside, { address: "::ffff:10.0.0.1", family: 6 }]],
  ])("refuses the name when %s address is not public", async (_, found) => {
    const lookup = guardedLookup("public", async () => found);
    await expect(all(lookup)).rejects.toThrow(DestinationRefused);
    await expect(one(lookup)).rejects.toThrow("Cannot call hook.test: it resolves to an address that is not public");
  });

  test("resolves once, so that a name that rebinds is not asked again", async () => {
    const answers = [[outside], [inside]];
    const lookup = guardedLookup("public", async () => answers.shift() ?? []);
    expect(await all(lookup)).toEqual([outside]);
    expect(answers).toEqual([[inside]]);
  });

  test("checks nothing for an allowed origin", async () => {
    expect(await one(guardedLookup("allowed", async () => [inside]))).toEqual(inside);
  });

  test("fails with the resolver's own code, and with ENODATA for a name without addresses", async () => {
    const failing = guardedLookup("public", () => Promise.reject(Object.assign(new Error("x"), { code: "EAI_AGAIN" })));
    await expect(all(failing)).rejects.toMatchObject({ code: "EAI_AGAIN" });
    await expect(all(guardedLookup("public", async () => []))).rejects.toMatchObject({ code: "ENODATA" });
  });

  test.each(["localhost", "LOCALHOST"])("refuses %s by what the system resolves it to", async (name) => {
    await expect(all(guardedLookup("public", systemResolve), name)).rejects.toThrow(DestinationRefused);
  });
});

test("the host of an IPv6 URL has no brackets, as sockets want it", () => {
  expect(hostOf(new URL("https://[2606:4700::1]:8443/"))).toBe("2606:4700::1");
  expect(hostOf(new URL("https://api.example/"))).toBe("api.example");
});

function all(lookup: LookupFunction, name = "hook.test"): Promise<unknown> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}

function one(lookup: LookupFunction): Promise<LookupAddress> {
  return new Promise((resolve, reject) => {
    lookup("hook.test", {}, (error, address, family = 0) =>
      error ? reject(error) : resolve({ address: address as string, family }),
    );
  });
}
