import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { wholeAnswer } from "../bench/kit/answer-socket.ts";
import { startChild } from "../bench/kit/child.ts";
import { closedLoop } from "../bench/kit/closed-loop.ts";
import { medianResult, ratio } from "../bench/kit/report.ts";
import { percentile } from "../bench/kit/statistics.ts";
import { stripeRequests } from "../bench/kit/stripe-requests.ts";
import type { LoadResult } from "../bench/load.ts";
import { signatureFits } from "../bench/servers/stripe-receiver.ts";

const secret = "whsec_of_this_test";
let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function listen(answer: Parameters<typeof createServer>[1] & {}): Promise<number> {
  server = createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function runLoad(port: number): Promise<RegExpExecArray> {
  const load = startChild("load.ts", {
    args: [`--port=${port}`, `--pid=${process.pid}`, "--connections=4", "--warm-up-ms=50", "--window-ms=200"],
    env: { STRIPE_SECRET: secret },
  });
  try {
    return await load.line(/^\{.*\}$/, { timeoutMs: 50_000 });
  } finally {
    await load.end();
  }
}

describe("the load generator", () => {
  test("sends 1 KiB bodies with distinct ids and a signature that fits", async () => {
    const seen = new Set<string>();
    const port = await listen((request, response) => {
      let body = "";
      request.setEncoding("latin1").on("data", (chunk: string) => (body += chunk));
      request.on("end", () => {
        const fits = signatureFits(request.headers["stripe-signature"], Buffer.from(body), secret);
        seen.add(JSON.parse(body).id);
        response.statusCode = fits && body.length === 1024 ? 200 : 400;
        response.end("{}");
      });
    });
    const requests = stripeRequests({ count: 40, secret });
    const statuses: number[] = [];
    let sent = 0;
    await closedLoop({
      port,
      connections: 4,
      next: () => (sent < 40 ? { index: sent, bytes: requests.bytes(sent++) } : undefined),
      onAnswer: ({ status }) => statuses.push(status),
    });
    expect(statuses).toEqual(Array.from({ length: 40 }, () => 200));
    expect(seen.size).toBe(40);
  });

  test("prints the rate and the latencies of its window", async () => {
    const port = await listen((request, response) => {
      request.resume().on("end", () => response.end("{}"));
    });
    const [line] = await runLoad(port);
    const result = JSON.parse(line) as LoadResult;
    expect(result.perSecond).toBeGreaterThan(0);
    expect(result.p50Ms).toBeGreaterThan(0);
    expect(result.p99Ms).toBeGreaterThanOrEqual(result.p50Ms);
    expect(result.maxMs).toBeGreaterThanOrEqual(result.p99Ms);
  });

  test("gives no figure for a round with a single refusal", async () => {
    let count = 0;
    const port = await listen((request, response) => {
      request.resume().on("end", () => {
        response.statusCode = count++ === 5 ? 503 : 200;
        response.end("{}");
      });
    });
    await expect(runLoad(port)).rejects.toThrow(/1 of \d+ answers were not 2xx/);
  });

  test("takes an answer for whole only with its last byte", () => {
    const answer = "HTTP/1.1 202 Accepted\r\ncontent-length: 4\r\nx: y\r\n\r\nabcd";
    for (let size = 0; size < answer.length; size++) {
      expect(wholeAnswer(answer.slice(0, size))).toBeUndefined();
    }
    expect(wholeAnswer(answer)).toBe(202);
    expect(() => wholeAnswer(`${answer}H`)).toThrow("1 bytes follow its end");
    expect(() => wholeAnswer("HTTP/1.1 200 OK\r\n\r\n")).toThrow("Content-Length");
  });
});

describe("the report", () => {
  test("takes each median by itself and the ratio of the medians", () => {
    const run = (name: string, perSecond: number, p50Ms: number) => ({
      name,
      perSecond,
      p50Ms,
      p99Ms: 9,
    });
    const ours = medianResult({
      name: "ours",
      runs: [run("ours", 30, 1), run("ours", 10, 3), run("ours", 20, 2)],
    });
    const theirs = medianResult({
      name: "theirs",
      runs: [run("theirs", 4, 1), run("theirs", 6, 2)],
    });
    expect(ours).toEqual({ name: "ours", perSecond: 20, p50Ms: 2, p99Ms: 9 });
    expect(ratio([ours, theirs], "ours", "theirs")).toBe(4);
    expect(ratio([theirs], "ours", "theirs")).toBeNull();
  });

  test("takes a percentile that is one of the values", () => {
    const values = Float64Array.from({ length: 100 }, (_, index) => index + 1);
    expect([percentile(values, 0.5), percentile(values, 0.99), percentile(values, 1)]).toEqual([50, 99, 100]);
  });
});
