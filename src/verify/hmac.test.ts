import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { hmac, hmacKey, hmacRoom } from "./hmac.ts";

test.each(["sha1", "sha256", "sha512"] as const)(
  "hmac() with %s equals node's createHmac for any key and message",
  (name) => {
    const key = fc.uint8Array({ maxLength: 300, size: "max" });
    fc.assert(
      fc.property(key, fc.uint8Array({ maxLength: 2_000, size: "max" }), (keyBytes, message) => {
        const buffer = Buffer.concat([Buffer.alloc(hmacRoom(name)), message]);
        const expected = createHmac(name, keyBytes).update(message).digest("hex");
        expect(hmac(hmacKey(name, keyBytes), buffer).toString("hex")).toBe(expected);
      }),
    );
  },
);

test("hmac() serves several keys from one copy of the message", () => {
  const message = Buffer.from("one message");
  const buffer = Buffer.concat([Buffer.alloc(hmacRoom("sha256")), message]);
  for (const key of ["first", "second", "first"]) {
    const expected = createHmac("sha256", key).update(message).digest("hex");
    expect(hmac(hmacKey("sha256", Buffer.from(key)), buffer).toString("hex")).toBe(expected);
  }
});
