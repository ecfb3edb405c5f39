import { describe, expect, test } from "vitest";
import { defaults } from "../../src/domain/limits.ts";
import { type Office, openOffice } from "../outbox/office.ts";

/** When an order that was answered "later" is due again, counted from now. */
async function dueAfter(office: Office, retryAfter: string | readonly string[] | undefined): Promise<number> {
  const desk = await office.desk();
  const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter as string };
  office.provider.failNext({ when: "before", kind: "answer", status: 429, headers });
  await desk.owe("order-1");
  await desk.work();
  const { dueAt } = (await desk.see("order-1")).obligation;
  return (dueAt ?? 0) - office.clock.wallMs();
}

describe("Retry-After", () => {
  test.each([
    ["seconds", "120", 120_000],
    ["a date to come", new Date(Date.UTC(2026, 0, 1, 0, 5)).toUTCString(), 300_000],
    ["an exponent", "1e9", defaults.retryFirstMs],
    ["more seconds than the bound", "1000000000", defaults.retryAfterMaxMs],
    ["a date gone by", new Date(Date.UTC(2025, 0, 1)).toUTCString(), defaults.retryFirstMs],
    ["zero", "0", defaults.retryFirstMs],
    ["a negative number", "-5", defaults.retryFirstMs],
    ["no time at all", "abc", defaults.retryFirstMs],
    ["two headers", ["120", "240"], defaults.retryFirstMs],
    ["nothing", undefined, defaults.retryFirstMs],
  ])("of %s decides when the next try is due, and never makes a hot loop", async (_, value, expected) => {
    await using office = await openOffice();
    expect(await dueAfter(office, value)).toBe(expected);
  });

  test("outlives a restart of the worker", async () => {
    await using office = await openOffice();
    expect(await dueAfter(office, "120")).toBe(120_000);
    const restarted = await office.desk();
    office.clock.advance(119_000);
    await restarted.work();
    expect(office.provider.counts().requests).toBe(1);
    office.clock.advance(1_001);
    await restarted.work();
    expect(await restarted.state("order-1")).toBe("done");
  });
});
