import { describe, expect, test } from "vitest";
import type { HttpAnswer } from "./answer-mark.ts";
import type { StatusVerdict } from "./effect.ts";
import type { Reached } from "./obligation.ts";
import { statusRules, statusVerdict, verdictProblem, type VerdictOptions } from "./status-verdict.ts";

const keyed: VerdictOptions = { keyed: true };
const keyless: VerdictOptions = { keyed: false };
const everyStatus = Array.from({ length: 500 }, (_, index) => index + 100);

function answer(status: number, headers: HttpAnswer["headers"] = {}, body = ""): HttpAnswer {
  return { status, headers, body: new TextEncoder().encode(body), truncated: false };
}

/** The table once more, in the words of the documentation and not of the code. */
function documented(status: number, isKeyed: boolean): StatusVerdict {
  if (status < 200) return "unknown";
  if (status < 300) return "done";
  if ([408, 425, 429].includes(status) || status >= 500) return "again";
  if (status === 401 || status === 403) return "pause";
  if (status === 409 && isKeyed) return "running";
  return "permanent";
}

const refusals = [400, 401, 403, 404, 405, 410, 411, 413, 414, 415, 421, 422, 425, 428, 429, 431];

function documentedReached(status: number): Reached {
  if (status >= 200 && status < 300) return "yes";
  return refusals.includes(status) ? "no" : "maybe";
}

describe("the table", () => {
  test.each([true, false])("gives every status from 100 to 599 its documented verdict (under a key: %s)", (isKeyed) => {
    const given = everyStatus.map((status) => [status, statusVerdict(answer(status), { keyed: isKeyed })]);
    const expected = everyStatus.map((status) => [
      status,
      { verdict: documented(status, isKeyed), reached: documentedReached(status), replayed: false },
    ]);
    expect(given).toEqual(expected);
  });

  test.each([0, 99, 600, 999, Number.NaN, 200.5 - 101])("leaves status %d unknown: it is no final answer", (status) => {
    expect(statusVerdict(answer(status), keyed)).toEqual({ verdict: "unknown", reached: "maybe", replayed: false });
  });

  test("has no row that another row hides", () => {
    for (const rule of statusRules) {
      const statuses = everyStatus.filter((status) => status >= rule.from && status <= rule.to);
      const decided = statuses.filter(
        (status) => statusRules.find(({ from, to }) => status >= from && status <= to) === rule,
      );
      expect(decided.length, rule.why).toBeGreaterThan(0);
    }
  });
});

describe("an effect's own word", () => {
  test("replaces the table's verdict for that status alone", () => {
    const options = { keyed: true, verdicts: { 409: "done", 404: "again", 503: "pause", 202: "running" } } as const;
    expect(statusVerdict(answer(409), options)).toMatchObject({ verdict: "done", reached: "yes" });
    expect(statusVerdict(answer(404), options)).toMatchObject({ verdict: "again", reached: "no" });
    expect(statusVerdict(answer(503), options)).toMatchObject({ verdict: "pause", reached: "maybe" });
    expect(statusVerdict(answer(202), options)).toMatchObject({ verdict: "running", reached: "maybe" });
    expect(statusVerdict(answer(500), options)).toMatchObject({ verdict: "again" });
  });

  test("cannot make a refusal out of what may have been done", () => {
    for (const status of everyStatus.filter((each) => documentedReached(each) !== "no")) {
      for (const verdict of ["again", "unknown", "running", "pause", "permanent", "key_reused"] as const) {
        const ruling = statusVerdict(answer(status), { keyed: true, verdicts: { [status]: verdict } });
        expect(ruling.reached, `${verdict} of ${status}`).toBe("maybe");
      }
    }
  });

  test("takes the refusal out of a status that this provider means otherwise", () => {
    for (const verdict of ["unknown", "running", "key_reused"] as const) {
      expect(statusVerdict(answer(429), { keyed: true, verdicts: { 429: verdict } }).reached, verdict).toBe("maybe");
    }
  });

  test("cannot turn a status that is no final answer into one", () => {
    expect(statusVerdict(answer(102), { keyed: true, verdicts: { 102: "done" } }).verdict).toBe("unknown");
  });

  test.each<[VerdictOptions, string | undefined]>([
    [keyed, undefined],
    [{ keyed: true, verdicts: { 200: "unknown", 303: "done", 404: "again", 409: "key_reused" } }, undefined],
    [{ keyed: true, verdicts: { 200: "again" } }, "must not be sent again"],
    [{ keyed: true, verdicts: { 299: "permanent" } }, "must not be sent again"],
    [{ keyed: true, verdicts: { 100: "done" } }, "from 200 to 599"],
    [{ keyed: true, verdicts: { 600: "done" } }, "from 200 to 599"],
    [{ keyed: true, verdicts: { 4: "done" } }, "from 200 to 599"],
    [{ keyed: true, verdicts: { 404: "retry" as StatusVerdict } }, "a verdict other than"],
    [{ keyed: false, verdicts: { 409: "running" } }, "the effect has none"],
    [{ keyed: false, verdicts: { 422: "key_reused" } }, "the effect has none"],
    [{ keyed: false, keyReused: { status: 422 } }, "the effect has none"],
    [{ keyed: true, keyReused: {} }, 'a mark for "key reused" that names neither'],
    [{ keyed: true, replayed: { path: ["a"] } }, 'a mark for "replayed" that has a path'],
  ])("is validated: %j", (options, problem) => {
    if (problem === undefined) expect(verdictProblem(options)).toBeUndefined();
    else expect(verdictProblem(options)).toContain(problem);
  });
});

describe("a key that was used for another request", () => {
  const options: VerdictOptions = {
    keyed: true,
    keyReused: { status: 400, path: ["error", "type"], equals: "idempotency_error" },
  };

  test("is recognised by the effect's mark, whatever the table says of the status", () => {
    const body = '{"error":{"type":"idempotency_error"}}';
    expect(statusVerdict(answer(400, {}, body), options)).toEqual({
      verdict: "key_reused",
      reached: "maybe",
      replayed: false,
    });
    expect(statusVerdict(answer(400, {}, "{}"), options).verdict).toBe("permanent");
  });

  test("is recognised by its status alone where the provider has one for it", () => {
    expect(statusVerdict(answer(422), { keyed: true, verdicts: { 422: "key_reused" } }).verdict).toBe("key_reused");
  });
});

describe("a stored error that is replayed", () => {
  const options: VerdictOptions = { keyed: true, replayed: { header: "idempotent-replayed", equals: "true" } };
  const replayed = { "idempotent-replayed": ["true"] };

  test.each([500, 503, 429, 409, 401])("ends the tries under this key (status %i)", (status) => {
    expect(statusVerdict(answer(status, replayed), options)).toMatchObject({ verdict: "permanent", replayed: true });
    expect(statusVerdict(answer(status), options).replayed).toBe(false);
  });

  test("keeps open whether the effect exists", () => {
    expect(statusVerdict(answer(500, replayed), options).reached).toBe("maybe");
  });

  test("does not touch a stored success", () => {
    expect(statusVerdict(answer(201, replayed), options)).toEqual({ verdict: "done", reached: "yes", replayed: false });
  });
});

test("a call without a key never waits for a running one", () => {
  expect(statusVerdict(answer(409), keyless)).toEqual({ verdict: "permanent", reached: "maybe", replayed: false });
});
