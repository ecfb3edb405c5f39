/**
 * Answers as they are stored, and as a hook reads them.
 *
 * A hook always reads the stored answer, also the first time, so that what it sees after a restart is
 * what it saw before. An answer that no HTTP call gave has a status that HTTP has not: it says who did.
 */
import type { HttpAnswer } from "../domain/answer-mark.ts";
import type { EffectDefinition, Result } from "../domain/effect.ts";
import { errorSummary } from "../domain/error-summary.ts";
import type { StoredAnswer } from "../domain/obligation.ts";
import { check } from "../domain/schema.ts";

const operatorStatus = 0;
const lookupStatus = 1;

/** What a call was answered, without its headers. */
export function callAnswer({ status, body, truncated }: HttpAnswer): StoredAnswer {
  return { status, body, truncated };
}

/** What an effect's `found` made of a lookup. It must be JSON; a larger one than allowed is cut, and then fits nothing. */
export function lookupAnswer(found: unknown, bytesMax: number): StoredAnswer {
  return given(lookupStatus, found, bytesMax);
}

/** What an SDK gave; what is no JSON, or more than allowed, fits nothing. It took effect in any case. */
export function sdkAnswer(answer: unknown, bytesMax: number): StoredAnswer {
  try {
    return given(200, answer, bytesMax);
  } catch {
    // It has a cycle, or a value that JSON has not.
    return { status: 200, body: new Uint8Array(), truncated: true };
  }
}

/** What an operator says the answer was; `undefined` for none. */
export function operatorAnswer(answer: unknown, bytesMax: number): StoredAnswer {
  return given(operatorStatus, answer, bytesMax);
}

function given(status: number, value: unknown, bytesMax: number): StoredAnswer {
  const text = JSON.stringify(value) as string | undefined;
  const body = new TextEncoder().encode(text ?? "");
  return { status, body: body.subarray(0, bytesMax), truncated: body.length > bytesMax };
}

/** A stored answer as a hook reads it, or why it cannot. */
export type ReadAnswer =
  | { readonly fits: true; readonly result: Result<unknown> }
  | { readonly fits: false; readonly problem: string };

/**
 * Reads a stored answer by the effect's schema, whoever gave it. Never throws: a schema that does is a
 * problem like one that does not fit.
 */
export function readAnswer({ answer: schema }: EffectDefinition, stored: StoredAnswer | null): ReadAnswer {
  const { status, body, truncated } = stored ?? operatorAnswer(undefined, 0);
  if (truncated) return { fits: false, problem: "the answer was cut, so it cannot be read" };
  const json = parseJson(body);
  if (schema === undefined) return { fits: true, result: resultOf(status, json.value) };
  if (!json.valid) return { fits: false, problem: "the answer is not JSON" };
  try {
    const checked = check(schema, json.value);
    if (checked.fits) return { fits: true, result: resultOf(status, checked.value) };
    return { fits: false, problem: `the answer ${checked.issues.join("; ")}` };
  } catch (error) {
    return { fits: false, problem: `the answer's schema failed with ${errorSummary(error)}` };
  }
}

/** Says what keeps a hook, or a reader who trusts the schema, from using an answer; `null` when nothing does. */
export function unfitness(definition: EffectDefinition, stored: StoredAnswer | null): string | null {
  if (definition.answer === undefined && definition.settled === undefined) return null;
  const read = readAnswer(definition, stored);
  return read.fits ? null : read.problem;
}

function resultOf(status: number, answer: unknown): Result<unknown> {
  if (status === operatorStatus) return { source: "operator", answer };
  return status === lookupStatus ? { source: "lookup", answer } : { source: "answer", status, answer };
}

/** A body as JSON; an empty one is valid and `undefined`, as of a 204. */
export function parseJson(body: Uint8Array): { readonly valid: boolean; readonly value: unknown } {
  if (body.length === 0) return { valid: true, value: undefined };
  try {
    return { valid: true, value: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as unknown };
  } catch {
    // Not JSON, or not UTF-8: a fact about the answer, which the caller judges.
    return { valid: false, value: undefined };
  }
}
