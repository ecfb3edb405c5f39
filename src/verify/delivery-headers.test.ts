import { describe, expect, test } from "vitest";
import { headersFromFetch, headersFromRaw } from "./delivery-headers.ts";

describe("headersFromRaw()", () => {
  const headers = headersFromRaw(["Host", "a.example", "X-Id", "1", "x-ID", "2", "Content-Type", "application/json"]);

  test("finds names in any case and gives the first value", () => {
    expect(headers.get("x-id")).toBe("1");
    expect(headers.get("CONTENT-TYPE")).toBe("application/json");
  });

  test("counts every time a header was sent", () => {
    expect(["x-id", "host", "x-other"].map((name) => headers.count(name))).toEqual([2, 1, 0]);
  });

  test("never takes a value for a name", () => {
    expect(headersFromRaw(["x-a", "x-b", "x-c", "1"]).get("x-b")).toBeUndefined();
  });

  test("knows no header that was not sent, inherited names included", () => {
    expect(headers.get("constructor")).toBeUndefined();
    expect(headersFromRaw([]).count("host")).toBe(0);
    expect(headersFromRaw(["odd"]).get("odd")).toBeUndefined();
  });
});

test("headersFromFetch() gives merged values and counts presence", () => {
  const merged = new Headers({ "X-Id": "1" });
  merged.append("x-id", "2");
  const headers = headersFromFetch(merged);
  expect([headers.get("x-ID"), headers.count("x-id")]).toEqual(["1, 2", 1]);
  expect([headers.get("x-other"), headers.count("x-other")]).toEqual([undefined, 0]);
});
