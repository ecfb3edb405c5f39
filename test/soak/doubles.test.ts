import { expect, test } from "vitest";
import { type AttemptRow, isProvidersBreach } from "./doubles.ts";

const send = (startedAt: number, endedAt: number | null, verdict = "unknown"): AttemptRow => ({
  kind: "send",
  verdict,
  startedAt,
  endedAt,
});
const lookup = (startedAt: number, verdict = "absent"): AttemptRow => ({
  kind: "lookup",
  verdict,
  startedAt,
  endedAt: startedAt + 1,
});
const effects = (...times: readonly number[]) => times.map((atMs) => ({ method: "POST", atMs, tookEffect: true }));

test.for<[name: string, expected: boolean, attempts: readonly AttemptRow[], times: readonly number[]]>([
  ["the request came out after the lookup", true, [send(0, 10), lookup(60), send(61, 70)], [62, 63]],
  [
    "a call that never left comes between",
    true,
    [send(0, 10), lookup(60), send(61, 61, "not_sent"), send(62, 70)],
    [63, 64],
  ],
  ["nobody looked", false, [send(0, 10), send(61, 70)], [62, 63]],
  ["the lookup came too soon to count", false, [send(0, 10), lookup(59), send(61, 70)], [62, 63]],
  ["the lookup found it", false, [send(0, 10), lookup(60, "found"), send(61, 70)], [62, 63]],
  ["the effect was there when it was looked for", false, [send(0, 10), lookup(60), send(61, 70)], [5, 63]],
  ["one of three calls was not looked up", false, [send(0, 10), lookup(60), send(61, 70), send(71, 80)], [62, 72]],
  ["the end of the call is not known", false, [send(0, null, "started"), lookup(60), send(61, 70)], [62, 63]],
  ["one call was made", false, [send(0, 10)], [5, 6]],
])("%s: the provider's breach is %s", ([, expected, attempts, times]) => {
  expect(isProvidersBreach({ attempts, asked: effects(...times), settleDelayMs: 50 })).toBe(expected);
});
