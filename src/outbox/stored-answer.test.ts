import { describe, expect, test } from "vitest";
import { effect, type EffectOptions } from "../domain/effect.ts";
import { type, type Schema } from "../domain/schema.ts";
import { callAnswer, lookupAnswer, operatorAnswer, parseJson, readAnswer, unfitness } from "./stored-answer.ts";

function definition(
  options: Partial<EffectOptions<object, unknown, unknown>> = {},
): ReturnType<typeof effect>["definition"] {
  const request = () => ({ method: "POST", url: "https://carrier.example" }) as const;
  return effect<never>("ship/v1", { input: type(), request, idempotency: "none", ...(options as object) }).definition;
}

/** Takes numbers, and makes something of them. */
const doubling: Schema<number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof value === "number" ? { value: value * 2 } : { issues: [{ message: "s3cret", path: ["n"] }] },
  },
};

function stored(status: number, text: string): ReturnType<typeof callAnswer> {
  return callAnswer({ status, headers: {}, body: new TextEncoder().encode(text), truncated: false });
}

describe("a stored answer", () => {
  test("says who gave it, and is what its schema makes of it", () => {
    expect(readAnswer(definition({ answer: doubling }), stored(201, "21"))).toEqual({
      fits: true,
      result: { source: "answer", status: 201, answer: 42 },
    });
    expect(readAnswer(definition({ answer: doubling }), operatorAnswer(4, 100))).toEqual({
      fits: true,
      result: { source: "operator", answer: 8 },
    });
  });

  test("of a lookup is held to the same schema", () => {
    expect(readAnswer(definition({ answer: doubling }), lookupAnswer(4, 100))).toEqual({
      fits: true,
      result: { source: "lookup", answer: 8 },
    });
    expect(readAnswer(definition({ answer: doubling }), lookupAnswer({ id: "s-1" }, 100))).toEqual({
      fits: false,
      problem: 'the answer does not fit at "n"',
    });
    expect(readAnswer(definition(), lookupAnswer({ id: "s-1" }, 100))).toEqual({
      fits: true,
      result: { source: "lookup", answer: { id: "s-1" } },
    });
  });

  test("that is missing is an operator's word without an answer", () => {
    expect(readAnswer(definition(), null)).toEqual({ fits: true, result: { source: "operator", answer: undefined } });
  });

  test("that is empty is valid where the schema says so", () => {
    expect(readAnswer(definition({ answer: type<undefined>() }), stored(204, ""))).toMatchObject({ fits: true });
    expect(readAnswer(definition({ answer: doubling }), stored(204, ""))).toMatchObject({ fits: false });
  });

  test("that does not fit says where, never what", () => {
    expect(readAnswer(definition({ answer: doubling }), stored(200, '"x"'))).toEqual({
      fits: false,
      problem: 'the answer does not fit at "n"',
    });
    expect(readAnswer(definition({ answer: doubling }), stored(200, "<html>"))).toEqual({
      fits: false,
      problem: "the answer is not JSON",
    });
  });

  test("that was cut fits nothing", () => {
    expect(readAnswer(definition(), { ...stored(200, "1"), truncated: true })).toMatchObject({ fits: false });
    expect(lookupAnswer("long enough", 4)).toMatchObject({ truncated: true, body: new TextEncoder().encode('"lon') });
  });

  test("whose schema throws or waits is a problem, not an error", () => {
    const broken = (validate: () => unknown): Schema<number> => ({
      "~standard": { version: 1, vendor: "test", validate },
    });
    const throwing = broken(() => {
      throw new Error("s3cret");
    });
    for (const answer of [throwing, broken(() => Promise.resolve({ value: 1 }))]) {
      const read = readAnswer(definition({ answer }), stored(200, "1"));
      expect(read).toMatchObject({ fits: false });
      expect(JSON.stringify(read)).not.toContain("s3cret");
    }
  });

  test("is nobody's concern where neither a schema nor a hook reads it", () => {
    expect(unfitness(definition(), { ...stored(200, "<html>"), truncated: true })).toBeNull();
    expect(unfitness(definition({ settled: () => undefined }), { ...stored(200, "1"), truncated: true })).toContain(
      "cut",
    );
    expect(unfitness(definition({ answer: doubling }), stored(200, "1"))).toBeNull();
  });
});

test.each(["", "1", '{"a":1}'])("the body %j is JSON", (text) => {
  expect(parseJson(new TextEncoder().encode(text)).valid).toBe(true);
});

test("a body that is not UTF-8 is not JSON", () => {
  expect(parseJson(Uint8Array.of(0x22, 0xff, 0x22))).toEqual({ valid: false, value: undefined });
});
