import { describe, expect, test } from "vitest";
import {
  sentAtMs,
  secret,
  otherSecret,
  tolerance,
  pairs,
  versions,
  keyringFor,
  signed,
  judge,
  causeOf,
  body,
} from "../../test/kit/signing.ts";
import { explainRefusal } from "./verdict.ts";

describe("verify() of timestamps", () => {
  const keyring = keyringFor(pairs, secret);
  const headers = signed(pairs, body);

  test.each([
    [-tolerance.futureMs - 1, "timestamp_in_future"],
    [-tolerance.futureMs, "verified"],
    [-tolerance.futureMs + 1, "verified"],
    [0, "verified"],
    [tolerance.pastMs - 1, "verified"],
    [tolerance.pastMs, "verified"],
    [tolerance.pastMs + 1, "timestamp_too_old"],
    [10 * 365 * 86_400_000, "timestamp_too_old"],
    [-10 * 365 * 86_400_000, "timestamp_in_future"],
  ])("judges an arrival %i ms after sending as %s", (skewMs, expected) => {
    expect(causeOf(keyring, { headers, body, arrivedAtMs: sentAtMs + skewMs })).toBe(expected);
  });

  test("says how old the timestamp is and what is allowed", () => {
    const verdict = judge(keyring, { headers, body, arrivedAtMs: sentAtMs + 412_000 });
    if (verdict.kind !== "refused") throw new Error("verified");
    expect(explainRefusal(verdict)).toBe("Cannot verify signature: timestamp is 412 s old, allowed is 300 s");
  });

  test("does not call a forged delivery too old", () => {
    const forged = signed(pairs, body, otherSecret);
    expect(causeOf(keyring, { headers: forged, body, arrivedAtMs: sentAtMs + 1e9 })).toBe("signature_mismatch");
  });

  const ring = keyringFor(versions, secret);
  const texts = ["1e9", "123=junk", "+1767225600", "-1", "1767225600.0", " 1767225600", "0x69", "NaN", "1".repeat(17)];
  test.each(texts)("refuses %j as malformed although it is signed", (text) => {
    const mac = signed({ ...versions, signed: ["body"] }, Buffer.concat([Buffer.from(`msg_1.${text}.`), body]));
    expect(causeOf(ring, { headers: { ...mac, "x-id": "msg_1", "x-timestamp": text }, body })).toBe(
      "timestamp_malformed",
    );
  });

  test("takes milliseconds where seconds belong for the far future", () => {
    const mac = signed({ ...versions, signed: ["body"] }, Buffer.concat([Buffer.from(`msg_1.${sentAtMs}.`), body]));
    const sent = { ...mac, "x-id": "msg_1", "x-timestamp": String(sentAtMs) };
    expect(causeOf(ring, { headers: sent, body })).toBe("timestamp_in_future");
  });

  test.each(["t=,", "", "t=1767225600,t=1767225600,", "t=1767225600,t=1,", "T=1767225600,"])(
    "refuses a pair list that begins %j",
    (start) => {
      const signature = (headers["x-signature"] ?? "").split(",")[1] ?? "";
      expect(causeOf(keyring, { headers: { "x-signature": start + signature }, body })).toBe("timestamp_malformed");
    },
  );

  test("is a matter of the scheme: one that signs the time of publishing may wait for hours", () => {
    const patient = {
      ...pairs,
      timestamp: { from: { pair: "t" }, unit: "s", pastMs: 86_400_000, futureMs: 0 },
    } as const;
    const late = { headers: signed(patient, body), body, arrivedAtMs: sentAtMs + 4 * 3_600_000 };
    expect(causeOf(keyringFor(patient, secret), late)).toBe("verified");
    expect(causeOf(keyring, late)).toBe("timestamp_too_old");
  });

  test.each([
    ["2026-01-01T00:00:00Z", "verified"],
    ["2026-01-01T01:00:00.000+01:00", "verified"],
    ["2026-01-01", "timestamp_malformed"],
    ["2026-01-01T00:00:00", "timestamp_malformed"],
    ["Thu, 01 Jan 2026 00:00:00 GMT", "ambiguous_header"],
    ["2026-13-01T00:00:00Z", "timestamp_malformed"],
  ])("reads the date %s as %s", (text, expected) => {
    const dated = {
      ...versions,
      timestamp: { from: { header: "x-timestamp" }, unit: "rfc3339", ...tolerance },
    } as const;
    const mac = signed({ ...versions, signed: ["body"] }, Buffer.concat([Buffer.from(`msg_1.${text}.`), body]));
    const sent = { ...mac, "x-id": "msg_1", "x-timestamp": text };
    expect(causeOf(keyringFor(dated, secret), { headers: sent, body })).toBe(expected);
  });
});
