import { expect } from "vitest";

/** Payloads, secrets and credentials of this test all carry one word, which nothing else may. */
export function expectNoPayload(value: unknown, what: string): void {
  const text = JSON.stringify(value) ?? "";
  if (text.includes("canary")) expect(text, `${what} tells a payload`).not.toContain("canary");
}
