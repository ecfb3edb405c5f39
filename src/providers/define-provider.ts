import type { Handle, Handler } from "../domain/handler.ts";
import { defaults } from "../domain/limits.ts";
import { check, type Schema } from "../domain/schema.ts";
import { bodyPlan } from "../parse/body-plan.ts";
import { formType } from "../parse/read-form.ts";
import { authenticatedBy, type Scheme } from "../verify/scheme.ts";
import { idSources } from "./field-source.ts";
import { identityPaths, isInBody, isSignedSource } from "./identify.ts";
import type { ProviderRules, ProviderSpec } from "./provider-spec.ts";
import type { EventMap, Provider } from "./provider.ts";
import { shapeProblem } from "./spec-shape.ts";

/**
 * Makes a provider of its data.
 *
 * @throws TypeError when the data contradicts itself, naming the field.
 * @example
 * ```ts no-run
 * const acme = defineProvider({
 *   name: "acme",
 *   schemes: [{ kind: "hmac", hash: "sha256", headers: ["x-acme-signature"], grammar: { kind: "single" },
 *     encoding: "hex", key: { from: "utf8" }, signed: ["body"] }],
 *   identity: { id: { from: "body", path: ["id"] }, type: { from: "body", path: ["type"] } },
 *   ackMs: 10_000,
 *   retries: true,
 *   redeliveryMs: 3 * 24 * 3_600_000,
 * });
 * ```
 */
export function defineProvider<const Name extends string, Events = EventMap>(
  spec: ProviderSpec<Name>,
): Provider<Name, Events> {
  const rules = fillIn(spec);
  const problem = shapeProblem(spec) ?? problemOf(rules);
  if (problem !== undefined) throw new TypeError(`Cannot define provider "${spec.name}": ${problem}`);
  const plan = bodyPlan({ watch: identityPaths(rules.identity), volatile: rules.volatile });

  function on(type: string, ...rest: [Handle<never>] | [Schema<unknown>, Handle<never>]): Handler<Name> {
    const [schema, handle] = rest.length === 2 ? rest : [undefined, rest[0]];
    return { provider: spec.name, type, accepts: acceptor(schema), handle: handle as Handler["handle"] };
  }
  const provider: Provider<Name, Events> = {
    name: spec.name,
    rules,
    plan,
    on,
    typed: () => provider as never,
  };
  return provider;
}

function fillIn<Name extends string>(spec: ProviderSpec<Name>): ProviderRules<Name> {
  return {
    data: [],
    volatile: [],
    contentTypes: ["application/json"],
    encodings: [],
    signedBytes: "sent",
    form: {},
    methods: ["POST"],
    bodyBytesMax: defaults.bodyBytes,
    replayWindowMs: spec.redeliveryMs,
    answers: {},
    samples: {},
    unconfirmed: {},
    ...spec,
  };
}

function problemOf(rules: ProviderRules): string | undefined {
  if (!/^[a-z][a-z0-9-]*$/.test(rules.name)) return "the name may have lower-case letters, digits and dashes only";
  if (rules.schemes.length === 0) return "it has no scheme; a sender that proves nothing needs at least a token";
  for (const field of ["bodyBytesMax", "ackMs", "redeliveryMs", "replayWindowMs"] as const) {
    const value = rules[field];
    if (!Number.isSafeInteger(value) || value < 0) return `${field} is ${value}; it must be a whole number from 0`;
  }
  return (
    bodyProblem(rules) ??
    accountProblem(rules) ??
    rules.schemes.map(schemeProblem).find((problem) => problem !== undefined)
  );
}

/** Each item of a batch needs a name of its own, which a header that all share cannot give. */
function bodyProblem({ batch, identity, encodings, form, contentTypes }: ProviderRules): string | undefined {
  if (batch !== undefined && identity.id.from !== "arrival" && !idSources(identity).some(isInBody)) {
    return "its events come in batches, and their id has to stand in the body, within the item";
  }
  const unknown = encodings.find((encoding) => encoding !== "gzip");
  if (unknown !== undefined) return `its encoding "${String(unknown)}" is none that can be read; known is gzip`;
  return form.json !== undefined && !contentTypes.includes(formType)
    ? `it has a form field, and contentTypes is without ${formType}`
    : undefined;
}

/** An account names whose data an event is: where something is signed, it has to be among it. */
function accountProblem({ schemes, identity: { account = [] } }: ProviderRules): string | undefined {
  for (const scheme of schemes) {
    if (scheme.kind === "token") continue;
    const signed = authenticatedBy(scheme);
    if (!account.every((source) => isSignedSource(source, signed))) {
      return "its account stands where the signature does not reach; anyone could change it";
    }
  }
  return undefined;
}

function schemeProblem(scheme: Scheme): string | undefined {
  if (scheme.kind === "token") return undefined;
  const { timestamp } = scheme;
  if (timestamp === undefined) {
    const isSigned = "signed" in scheme && (scheme.signed as readonly unknown[]).includes("timestamp");
    return isSigned ? "no rule says where the signed timestamp stands" : undefined;
  }
  if ("pair" in timestamp.from && !("grammar" in scheme && scheme.grammar.kind === "pairs")) {
    return "a timestamp can be a pair only where signatures are pairs";
  }
  if ("claim" in timestamp.from !== (scheme.kind === "jws")) return "a timestamp is a claim in tokens, and only there";
  return timestamp.pastMs >= 0 && timestamp.futureMs >= 0 ? undefined : "a tolerance is negative";
}

function acceptor(schema: Schema<unknown> | undefined): Handler["accepts"] {
  if (schema === undefined) return (data) => ({ data });
  return (data) => {
    const checked = check(schema, data);
    return checked.fits ? { data: checked.value } : { problem: problemText(checked.issues) };
  };
}

/** Enough to find the field; a body that fits nowhere would otherwise fill the receipt's reason. */
function problemText(issues: readonly string[]): string {
  const shown = issues.slice(0, 3).join("; ");
  return issues.length > 3 ? `${shown}; and ${issues.length - 3} more` : shown;
}
