import { expect, test } from "vitest";
import { eventually } from "./eventually.ts";

test("gives the first value that is truthy", async () => {
  let calls = 0;
  expect(await eventually(() => (calls += 1) >= 3 && `call ${calls}`)).toBe("call 3");
});

test("takes a check that throws or waits as not yet", async () => {
  let calls = 0;
  const value = await eventually(async () => {
    calls += 1;
    await Promise.resolve();
    if (calls < 3) throw new Error("not yet");
    return calls;
  });
  expect(value).toBe(3);
});

test("fails when the time is up, naming what it waited for and why the last check failed", async () => {
  const check = (): never => {
    throw new Error("still 2 rows");
  };
  const failure = eventually(check, { withinMs: 30, what: "the table is empty" });
  await expect(failure).rejects.toThrow("the table is empty did not come true within 30 ms");
  await expect(failure).rejects.toHaveProperty("cause.message", "still 2 rows");
});

test("checks at least once, however short the time", async () => {
  expect(await eventually(() => true, { withinMs: 0 })).toBe(true);
});
