import { describe, expect, test } from "vitest";
import { markProblem } from "../domain/answer-mark.ts";
import { effect, type EffectDefinition } from "../domain/effect.ts";
import { wireKey } from "../domain/key-life.ts";
import { defaults } from "../domain/limits.ts";
import { type } from "../domain/schema.ts";
import { idempotency, type IdempotencyProfile } from "../providers/idempotency.ts";
import { checkEffect } from "./check-effect.ts";

function profiles(from: object, path = ""): (readonly [string, IdempotencyProfile])[] {
  return Object.entries(from).flatMap(([name, value]: [string, object]) =>
    "keyLifetime" in value ? [[path + name, value as IdempotencyProfile] as const] : profiles(value, `${path}${name}.`),
  );
}

describe.each(profiles(idempotency))("the idempotency profile %s", (_name, profile) => {
  const definition: EffectDefinition = effect("pay/v1", {
    input: type<{ order: string }>(),
    request: () => ({ method: "POST", url: "https://api.example/pay", json: {} }),
    idempotency: profile,
    ...(profile.keyReused && { keyReused: profile.keyReused }),
  }).definition;

  test("fits an effect as it is", () => {
    expect(checkEffect(definition, defaults)).toBeUndefined();
    for (const mark of [profile.keyReused, profile.running]) expect(mark && markProblem(mark)).toBeUndefined();
  });

  test("gets a key that the provider takes, and another one for every operation and generation", () => {
    const { lengthMax, form } = profile;
    const keyOf = (operationKey: string, generation = 1): string =>
      wireKey({ tenant: "acme", operationKey, generation, lengthMax, form });
    const long = `${"order/".repeat(200)}1`;
    const keys = [keyOf("order-1"), keyOf(long), keyOf(`${long}2`), keyOf(long, 2)];
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(key.length).toBeLessThanOrEqual(lengthMax ?? 255);
    expect(keyOf(long)).toBe(keyOf(long));
  });
});
