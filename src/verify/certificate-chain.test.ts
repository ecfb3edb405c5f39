import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { describe, expect, test } from "vitest";
import { presetKey } from "../../test/kit/preset-keys.ts";
import { paypal } from "../providers/paypal.ts";
import { sampleDelivery } from "../providers/sample-delivery.ts";
import { headersFromRaw } from "./delivery-headers.ts";
import { openKeyring } from "./keyring.ts";
import { verifyFetching } from "./verify.ts";

type Name = "root" | "other" | "middle" | "brief" | "leaf" | "poser" | "posed";

const atMs = Date.UTC(2027, 0, 15);

function pem(...names: Name[]): string {
  const file = (name: Name): URL => new URL(`../../test/fixtures/tls/chain/${name}.pem`, import.meta.url);
  return names.map((name) => readFileSync(file(name), "utf8")).join("");
}

/** The verdict on a delivery whose certificate is fetched as this text. */
async function verdictOf(fetched: string, authorities: readonly string[], arrivedAtMs = atMs): Promise<string> {
  const { configured, signing } = presetKey(paypal, 1);
  const keyring = openKeyring(paypal.rules.schemes, [configured], {
    fetchKey: () => Promise.resolve(fetched),
    authorities,
  });
  if (keyring.kind === "unusable") throw new Error(keyring.message);
  const options = { secret: signing, type: "PAYMENT.CAPTURE.COMPLETED", id: "WH-1", timestampMs: arrivedAtMs };
  const { headers, body } = sampleDelivery(paypal.rules, options);
  const given = headersFromRaw(Object.entries(headers).flat());
  const verdict = await verifyFetching(keyring, { headers: given, body, arrivedAtMs });
  return verdict.kind === "verified" ? verdict.kind : verdict.cause;
}

describe("a certificate that is fetched, where the connection names authorities", () => {
  test.each<[string, string, string[]]>([
    ["to a root through the intermediate that came with it", pem("leaf", "middle"), [pem("root")]],
    [
      "to a root among many, whatever else came with it",
      pem("leaf", "other", "middle", "root"),
      [...rootCertificates, pem("root")],
    ],
    ["to an intermediate that is trusted itself", pem("leaf"), [pem("middle")]],
    ["to a root through an intermediate that is given beside it", pem("leaf"), [pem("root", "middle")]],
    ["to itself, which is trusted", pem("leaf"), [pem("leaf")]],
  ])("is taken when it leads %s", async (_what, fetched, authorities) => {
    expect(await verdictOf(fetched, authorities)).toBe("verified");
  });

  test.each<[string, string, string[]]>([
    ["its intermediate did not come with it", pem("leaf"), [pem("root")]],
    ["it leads to another root", pem("leaf", "middle", "root"), [pem("other")]],
    ["it leads to none of the machine's roots", pem("leaf", "middle", "root"), [...rootCertificates]],
    ["what issued it is no authority", pem("posed", "poser"), [pem("root")]],
    ["its intermediate is no longer valid", pem("leaf", "brief"), [pem("root")]],
    ["another certificate comes first", pem("middle", "leaf"), [pem("root")]],
    ["there is none", "no certificate", [pem("root")]],
    [
      "one of its chain is damaged",
      pem("leaf") + pem("middle").replace(/\n[A-Za-z0-9+/]{8}/, "\nAAAAAAAA"),
      [pem("root")],
    ],
  ])("is refused when %s", async (_what, fetched, authorities) => {
    expect(await verdictOf(fetched, authorities)).toBe("key_unknown");
  });

  test("is taken only while all of its chain is valid", async () => {
    expect(await verdictOf(pem("leaf", "brief"), [pem("root")], Date.UTC(2026, 11, 1, 12))).toBe("verified");
    expect(await verdictOf(pem("leaf", "brief"), [pem("root")], Date.UTC(2026, 11, 3))).toBe("key_unknown");
    expect(await verdictOf(pem("leaf", "middle"), [pem("root")], Date.UTC(2026, 10, 30))).toBe("key_unknown");
    expect(await verdictOf(pem("leaf", "middle"), [pem("root")], Date.UTC(2127, 0, 1))).toBe("key_unknown");
  });
});

test.each([
  [[]],
  [["no certificate"]],
  [[pem("root"), ""]],
  [["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]],
])("authorities %j are refused when the connection is made ready", (authorities) => {
  const fetchKey = (): Promise<null> => Promise.resolve(null);
  expect(openKeyring(paypal.rules.schemes, ["WEBHOOK-ID-1"], { fetchKey, authorities })).toMatchObject({
    kind: "unusable",
    message: expect.stringContaining("certificates in PEM") as string,
  });
});
