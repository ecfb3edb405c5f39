import { describe, expect, test } from "vitest";
import { FetchedKeys } from "./fetched-keys.ts";
import { isKeyUrl } from "./public-keys.ts";

function counting(answer: (name: string) => string | null | Promise<string | null>): {
  readonly keys: FetchedKeys<string>;
  readonly asked: readonly string[];
} {
  const asked: string[] = [];
  const keys = new FetchedKeys(
    async (name) => {
      asked.push(name);
      return answer(name);
    },
    (text) => (text.startsWith("key") ? text : undefined),
  );
  return { keys, asked };
}

describe("FetchedKeys", () => {
  test("fetches a key once for all that wait, and keeps it for an hour", async () => {
    const { keys, asked } = counting((name) => `key ${name}`);
    expect(keys.get("a", 0)).toBeUndefined();
    await Promise.all([keys.fetch("a", 0), keys.fetch("a", 0)]);
    expect([keys.get("a", 3_599_999), keys.get("a", 3_600_000), asked]).toEqual(["key a", undefined, ["a"]]);
  });

  test.each<readonly [string, () => string | null]>([
    ["the provider does not know", () => null],
    ["is no key", () => "junk"],
    ["is too large", () => `key${"x".repeat(70_000)}`],
    [
      "could not be fetched",
      () => {
        throw new Error("refused");
      },
    ],
  ])("remembers for a minute what %s", async (_what, answer) => {
    const { keys } = counting(answer);
    await keys.fetch("a", 0);
    expect([keys.get("a", 59_999), keys.get("a", 60_000)]).toEqual(["missing", undefined]);
  });

  test("goes on with a key that cannot be fetched again just now, a day at most, and not with one that is gone", async () => {
    let answer: () => string | null = () => "key";
    const { keys } = counting(() => answer());
    const hourMs = 3_600_000;
    await keys.fetch("a", 0);
    answer = () => {
      throw new Error("refused");
    };
    await keys.fetch("a", hourMs);
    expect([keys.get("a", hourMs), keys.get("a", hourMs + 60_000)]).toEqual(["key", undefined]);
    await keys.fetch("a", 24 * hourMs);
    expect(keys.get("a", 24 * hourMs)).toBe("missing");
    answer = () => "key";
    await keys.fetch("b", 0);
    answer = () => null;
    await keys.fetch("b", hourMs);
    expect(keys.get("b", hourMs)).toBe("missing");
  });

  test("fetches four keys at a time, and remembers no more than it has room for", async () => {
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { keys, asked } = counting(async (name) => {
      await held;
      return `key ${name}`;
    });
    const fetching = Array.from({ length: 10 }, (_each, index) => keys.fetch(String(index), 0));
    expect(asked.length).toBe(4);
    release?.();
    await Promise.all(fetching);
    for (let index = 0; index < 100; index++) await keys.fetch(`later ${index}`, 0);
    expect([keys.get("0", 0), keys.get("later 99", 0)]).toEqual([undefined, "key later 99"]);
  });

  test("a key that was had is fetched again while names that strangers make up hold every place", async () => {
    const never = new Promise<string>(() => undefined);
    const { keys, asked } = counting((name) => (name.startsWith("made up") ? never : "key"));
    await keys.fetch("theirs", 0);
    const hourMs = 3_600_000;
    for (let index = 0; index < 9; index++) void keys.fetch(`made up ${index}`, hourMs);
    expect(keys.get("theirs", hourMs)).toBeUndefined();
    await keys.fetch("theirs", hourMs);
    expect(keys.get("theirs", hourMs)).toBe("key");
    expect(asked.filter((name) => name.startsWith("made up"))).toHaveLength(4);
  });

  test("a name that is longer than any is never asked for", () => {
    expect(counting(() => null).keys.get("x".repeat(513), 0)).toBe("missing");
  });
});

test.each([
  ["https://api.paypal.com/v1/certs/1", true],
  ["https://paypal.com/v1/certs/1", true],
  ["http://api.paypal.com/v1/certs/1", false],
  ["https://api.paypal.com.evil.example/1", false],
  ["https://evilpaypal.com/1", false],
  ["https://api.paypal.com@evil.example/1", false],
  ["https://user@api.paypal.com/1", false],
  ["https://api.paypal.com:8443/1", false],
  ["file:///etc/passwd", false],
  ["junk", false],
])("a key is fetched from %s: %s", (url, isAllowed) => {
  expect(isKeyUrl(url, ["paypal.com"])).toBe(isAllowed);
});
