import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { traitsOf } from "../../test/kit/preset-traits.ts";
import { catalogue } from "./catalogue.ts";
import { defineProvider } from "./define-provider.ts";
import { describeProvider, spanText } from "./describe-provider.ts";
import { idempotency, type IdempotencyProfile } from "./idempotency.ts";
import * as published from "./index.ts";
import type { ProviderSpec } from "./provider-spec.ts";

const file = new URL("../../docs/catalogue.md", import.meta.url);
const triedFor =
  "Every preset is tried with two secrets in either order, headers of any case, headers that come twice, junk of every length, and its own samples over HTTP in pieces cut anywhere. Beyond that, what it has: a time that is too far from now on either side, test events on a live connection and the other way round, a batch with one bad item, a handshake with a right and a wrong proof.";
const marker = /^<!-- From here on: .* -->$/m;

/** A table as the formatter aligns it. */
function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [headings, ...rows].map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = headings.map((_each, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = cells;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

const presets = Object.entries(catalogue).map(([exported, { rules }]) => ({ exported, ...describeProvider(rules) }));

function senders(): string {
  const rows = presets.map((each) => [
    `[\`${each.exported}\`](${each.docs})`,
    each.signature,
    each.id,
    each.batch,
    each.handshake,
    `${each.retries ? "yes" : "no"}; up to ${spanText(each.redeliveryMs)}`,
    each.proof,
  ]);
  return table(["preset", "signature", "event id", "batch", "handshake", "sends again", "shown by"], rows);
}

/** What is tried for each beside what is tried for all: read off the data by the tests and by this page. */
function tried(): string {
  const mark = (has: boolean): string => (has ? "yes" : "");
  const rows = Object.entries(catalogue).map(([exported, provider]) => {
    const { body, isTimed, hasMode, isBatch, hasHandshake, idHeader } = traitsOf(provider);
    const another = idHeader === undefined ? "" : idHeader.isSigned ? "refused" : "suspect";
    const places = { everywhere: "refused", "in the signed fields": "refused in what is signed", nowhere: "not seen" };
    return [`\`${exported}\``, places[body], ...[isTimed, hasMode, isBatch, hasHandshake].map(mark), another];
  });
  const headings = ["a changed byte of the body", "age", "test events", "one bad item", "handshake"];
  return table(["preset", ...headings, "the same body under another id"], rows);
}

function unconfirmed(): string {
  const rows = presets.flatMap(({ exported, unconfirmed: facts }) =>
    Object.entries(facts).map(([field, text]) => [`\`${exported}\``, `\`${field}\``, text]),
  );
  return table(["preset", "setting", "what is known"], rows);
}

function contracts(from: object = idempotency, path = "idempotency."): readonly (readonly string[])[] {
  return Object.entries(from).flatMap(([name, value]: [string, object]) => {
    if (!("keyLifetime" in value)) return contracts(value, `${path}${name}.`);
    const { keyLifetime, lengthMax, lookupHint = "", unconfirmed: facts = {}, ...place } = value as IdempotencyProfile;
    const key =
      Object.entries(place)
        .find(([name]) => ["header", "field", "query"].includes(name))
        ?.join(" ") ?? "";
    return [
      [`\`${path}${name}\``, key, keyLifetime, String(lengthMax ?? ""), lookupHint, Object.keys(facts).join(", ")],
    ];
  });
}

test("docs/catalogue.md shows what the data says", async () => {
  const page = readFileSync(file, "utf8");
  const prose = page.slice(0, page.search(marker)) + (marker.exec(page)?.[0] ?? "");
  const sections = [
    `## Senders\n\n${senders()}`,
    `## What is tried for each\n\n${triedFor}\n\n${tried()}`,
    `## Unconfirmed settings\n\n${unconfirmed()}`,
    `## Contracts for calls\n\n${table(["profile", "key", "lives", "longest", "to look up", "unconfirmed"], contracts())}`,
  ];
  await expect(`${[prose, ...sections].join("\n\n")}\n`).toMatchFileSnapshot(file.pathname);
});

test("every preset is published under its name in the catalogue", () => {
  expect(Object.fromEntries(Object.entries(published).filter(([name]) => name in catalogue))).toEqual(catalogue);
});

test("what no vector and no SDK shows is called unconfirmed", () => {
  const named = presets.filter(({ proof }) => proof === "unconfirmed").map(({ name }) => name);
  expect(named).toContain("mailgun");
  expect(named).not.toContain("stripe");
  expect(presets.find(({ name }) => name === "github")?.id).toBe("header x-github-delivery (not signed)");
});

/** The domain of a provider's documents, where it does not begin with the preset's name. */
const domains: Readonly<Record<string, string>> = {
  "adyen-platform": "adyen.com",
  bitbucket: "atlassian.com",
  "coinbase-commerce": "coinbase.com",
  "discord-interactions": "discord.com",
  jira: "atlassian.com",
  "lemon-squeezy": "lemonsqueezy.com",
  meta: "facebook.com",
  "mollie-classic": "mollie.com",
  msgraph: "microsoft.com",
  quickbooks: "intuit.com",
  "quickbooks-events": "intuit.com",
  sendgrid: "twilio.com",
  "slack-interactivity": "slack.dev",
  square: "squareup.com",
  "standard-webhooks": "github.com",
  trello: "atlassian.com",
};

test.each(presets)("$name names a page of its provider's own", ({ name, docs }) => {
  const { protocol, hostname, username, search } = new URL(docs);
  expect({ protocol, username, search }).toEqual({ protocol: "https:", username: "", search: "" });
  const domain = hostname.split(".").slice(-2).join(".");
  if (name in domains) expect(domain).toBe(domains[name]);
  else expect(domain.split(".")[0]).toBe(name);
});

/** Another value of each field that a preset calls unconfirmed somewhere. */
const others: Partial<ProviderSpec> = {
  schemes: published.github.rules.schemes,
  identity: { id: { from: "body", path: ["other"] }, type: { from: "body", path: ["kind"] } },
  handshake: { kind: "challenge", challengeParam: "c", tokenParam: "t" },
  ackMs: 1,
  redeliveryMs: 365 * 86_400_000 + 1,
};

test.each(Object.values(catalogue).filter(({ rules }) => Object.keys(rules.unconfirmed).length > 0))(
  "what is unconfirmed of $name are settings, shown with what is known",
  ({ rules }) => {
    const shown = describeProvider(rules).unconfirmed;
    for (const [field, known] of Object.entries(rules.unconfirmed) as [keyof ProviderSpec, string][]) {
      const other = field === "retries" ? !rules.retries : others[field];
      expect(other, field).toBeDefined();
      expect(rules[field], field).not.toEqual(other);
      expect(defineProvider({ ...rules, [field]: other }).rules[field], field).toEqual(other);
      expect(shown[field]).toBe(known);
      expect(known.length, field).toBeGreaterThan(10);
    }
  },
);
