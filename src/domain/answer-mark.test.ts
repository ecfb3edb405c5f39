import { expect, test } from "vitest";
import { bearsMark, markProblem, type AnswerMark, type HttpAnswer } from "./answer-mark.ts";

function answer(status: number, body = "", headers: HttpAnswer["headers"] = {}): HttpAnswer {
  return { status, headers, body: new TextEncoder().encode(body), truncated: false };
}

const stripeReused: AnswerMark = { status: 400, path: ["error", "type"], equals: "idempotency_error" };
const stripeReplayed: AnswerMark = { header: "Idempotent-Replayed", equals: "true" };

test("a mark in the body is found at its path and status only", () => {
  const body = '{"error":{"type":"idempotency_error"}}';
  expect(bearsMark(answer(400, body), stripeReused)).toBe(true);
  expect(bearsMark(answer(422, body), stripeReused)).toBe(false);
  expect(bearsMark(answer(400, '{"error":{"type":"card_error"}}'), stripeReused)).toBe(false);
});

test.each(["", "<html>", '{"error":', "null", '"idempotency_error"', '{"error":null}', "[1]"])(
  "the body %j bears no mark",
  (body) => {
    expect(bearsMark(answer(400, body), stripeReused)).toBe(false);
  },
);

test("a byte that is no UTF-8 elsewhere in the body hides no mark", () => {
  const body = Buffer.from('{"error":{"type":"idempotency_error","message":"\xff"}}', "latin1");
  expect(bearsMark({ ...answer(400), body }, stripeReused)).toBe(true);
});

test("an inherited member is no mark", () => {
  expect(bearsMark(answer(400, "{}"), { path: ["constructor", "name"], equals: "Object" })).toBe(false);
});

test("a mark in a header is found in any case, by its value or by being there", () => {
  const replayed = answer(500, "", { "idempotent-replayed": ["true"] });
  expect(bearsMark(replayed, stripeReplayed)).toBe(true);
  expect(bearsMark(replayed, { header: "idempotent-replayed" })).toBe(true);
  expect(bearsMark(answer(500, "", { "idempotent-replayed": ["false"] }), stripeReplayed)).toBe(false);
  expect(bearsMark(answer(500), { header: "Idempotent-Replayed" })).toBe(false);
});

test.each<[AnswerMark, string | undefined]>([
  [stripeReused, undefined],
  [stripeReplayed, undefined],
  [{ status: 422 }, undefined],
  [{ header: "x" }, undefined],
  [{}, "names neither"],
  [{ equals: "a" }, "names neither"],
  [{ status: 422, equals: "a" }, "has equals, but neither"],
  [{ header: "x", path: ["a"], equals: 1 }, "names both"],
  [{ path: ["a"] }, "no equals"],
  [{ path: [], equals: 1 }, "empty"],
  [{ header: "" }, "empty"],
])("the mark %j is judged as %j", (mark, problem) => {
  if (problem === undefined) expect(markProblem(mark)).toBeUndefined();
  else expect(markProblem(mark)).toContain(problem);
});
