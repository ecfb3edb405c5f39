/** The diagrams of docs/concepts.md are what the code does. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Obligation, obligationStates } from "../../src/domain/obligation.ts";
import { finalOutcomes, openOutcomes } from "../../src/domain/outcome.ts";
import { decide, type Learned } from "../../src/outbox/decide.ts";
import { after, at, bare, day, keyed, lookup, sent, start } from "../outbox/situation.ts";

const page = readFileSync(new URL("../../docs/concepts.md", import.meta.url), "utf8");
const diagrams = [...page.matchAll(/^```mermaid\n(.*?)^```$/gmsu)].map(([, text = ""]) => text);

/** What a worker may learn in a state in which it holds a lease. */
const learns = {
  sending: [
    ...(["not_sent", "again", "unknown", "running", "pause", "permanent", "key_reused"] as const).map((verdict) =>
      sent(verdict),
    ),
    { kind: "exists", by: "send", unfit: null },
    { kind: "crashed" },
    { kind: "released", attempt: "send" },
  ],
  uncertain: [
    { kind: "absent" },
    { kind: "exists", by: "lookup", unfit: null },
    { kind: "lookup_unknown", reason: "r" },
    { kind: "crashed" },
  ],
  settling: [{ kind: "hooked" }, { kind: "hook_failed", reason: "r" }, { kind: "crashed" }],
} satisfies Partial<Record<Obligation["state"], readonly Learned[]>>;

/** Every move out of a leased state, over what effects declare and what has happened before. */
function moves(): ReadonlySet<string> {
  const found = new Set<string>();
  const policies = [keyed, bare].flatMap((one) =>
    [null, lookup].flatMap((asks) => [true, false].map((hook) => ({ ...one, lookup: asks, hook }))),
  );
  const histories: readonly Partial<Obligation>[] = [null, start, after(start, -2 * day)].flatMap((keySince) =>
    [0, 1_000].flatMap((spent) =>
      [true, false].map((cancelRequested) => ({
        keySince,
        reached: keySince === null ? ("no" as const) : ("maybe" as const),
        tries: spent,
        lookups: spent,
        cancelRequested,
      })),
    ),
  );
  const situations = policies.flatMap((policy) => histories.map((was) => ({ policy, was })));
  for (const [state, all] of Object.entries(learns) as [keyof typeof learns, readonly Learned[]][]) {
    for (const { policy, was } of situations) {
      for (const learned of all) {
        const { to } = decide(at({ was: { ...was, state }, policy }), learned);
        if (to.state !== state) found.add(`${state} --> ${to.state}`);
      }
    }
  }
  return found;
}

test("an obligation's diagram has every state, and the very moves that a worker makes", () => {
  const [, diagram = ""] = diagrams;
  const drawn = [...diagram.matchAll(/^ {2}(\w+) --> (\w+): (.+)$/gmu)];
  expect(new Set(drawn.map(([, , to]) => to))).toEqual(new Set(obligationStates));
  const workers = drawn.filter(([, from = "", , label = ""]) => from in learns && !label.startsWith("operator"));
  const edges = workers.map(([, from = "", to = ""]) => `${from} --> ${to}`);
  expect([...moves()].toSorted()).toEqual(edges.toSorted());
});

test("an event's diagram has every outcome", () => {
  const [diagram = ""] = diagrams;
  const missing = [...finalOutcomes, ...openOutcomes].filter(
    (outcome) => !new RegExp(`\\b${outcome}\\b`, "u").test(diagram),
  );
  expect(missing).toEqual([]);
});
