import { hash } from "node:crypto";
import { readPath, type JsonPath } from "../domain/json.ts";
import { bodyPlan, planNode, type BodyPlan, type PlanNode } from "./body-plan.ts";
import type { Findings } from "./findings.ts";
import { scan } from "./scan.ts";

/** Why a verified body cannot be read. */
export type UnreadableCause =
  | "invalid_utf8"
  | "not_json"
  | "too_deep"
  | "non_finite_number"
  | "invalid_gzip"
  | "invalid_form"
  | "too_many_fields"
  | "form_field_missing"
  | "form_field_repeated"
  | "not_a_batch";

/** A body that is verified but cannot be read: kept with its bytes for the operator. */
export interface UnreadableBody {
  readonly kind: "unreadable";
  readonly cause: UnreadableCause;
  readonly digest: string;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const byteOrderMark = "\ufeff";

/**
 * Reads a JSON body strictly, from its bytes.
 *
 * UTF-8 must be valid: a lenient decoder would act on other text than was signed, and give different
 * bodies one meaning. One leading byte order mark is passed over. Nesting is bounded before anything
 * walks the value. Numbers stay numbers; `exactText` gives their digits.
 *
 * @example
 * ```ts
 * const body = parseBody(Buffer.from('{"id":15793596808644609}'), bodyPlan({ watch: [["id"]] }));
 * body.kind === "parsed" && body.exactText(["id"]); // "15793596808644609"
 * ```
 */
export function parseBody(bytes: Uint8Array, plan: BodyPlan): ParsedBody | UnreadableBody {
  const read = readText(bytes, plan);
  if (typeof read === "string") return unreadableBody(read, bytes, plan);
  const { findings, value } = read;
  if (findings.nonFinite) return unreadableBody("non_finite_number", bytes, plan);
  return new ParsedBody(value, digestOf(bytes, read), read);
}

/** A body that is JSON, whatever numbers it has. */
export interface BodyText extends Reading {
  readonly value: unknown;
  /** The text with its byte order mark, if it has one. */
  readonly decoded: string;
}

/** Reads the text of a body, or says why that is none. */
export function readText(bytes: Uint8Array, plan: BodyPlan): BodyText | UnreadableCause {
  const decoded = decode(bytes);
  if (decoded === undefined) return "invalid_utf8";
  const text = decoded.startsWith(byteOrderMark) ? decoded.slice(1) : decoded;
  const findings = scan(text, plan);
  if (findings.tooDeep) return "too_deep";
  const json = parse(text);
  return json === undefined ? "not_json" : { value: json.value, decoded, text, plan, findings };
}

/**
 * Parses a body again that was found readable before, such as in another thread: its value now, and what
 * its text says beyond that when it is asked for.
 *
 * @throws Error when the body is none that `parseBody` reads.
 */
export function parseAgain(bytes: Uint8Array, plan: BodyPlan): Pick<ParsedBody, "value" | "exactText"> {
  const decoded = decoder.decode(bytes);
  let parsed: ParsedBody | undefined;
  return {
    value: JSON.parse(decoded.startsWith(byteOrderMark) ? decoded.slice(1) : decoded) as unknown,
    exactText(path) {
      parsed ??= parseBody(bytes, plan) as ParsedBody;
      return parsed.exactText(path);
    },
  };
}

export interface Reading {
  readonly text: string;
  readonly plan: BodyPlan;
  readonly findings: Findings;
}

/** A JSON body with what its text says beyond its value. */
export class ParsedBody {
  readonly kind = "parsed";
  /** As `JSON.parse` gives it: of a repeated key the last, and `__proto__` as an own property like any other. */
  readonly value: unknown;
  /** Digest of the bytes without the volatile values, after the name of its rule. */
  readonly digest: string;
  readonly #reading: Reading;

  constructor(value: unknown, digest: string, reading: Reading) {
    this.value = value;
    this.digest = digest;
    this.#reading = reading;
  }

  /** Whether an integer beyond 2^53 is among the numbers, which are then not exact. */
  get hasInexactIntegers(): boolean {
    return this.#reading.findings.inexactIntegers;
  }

  /** Whether a key on this path stands twice in its object, so that two readers could differ. */
  isRepeated(path: JsonPath): boolean {
    const [findings, node] = this.#locate(path);
    return findings.isRepeated(node);
  }

  /**
   * The text of a string, or the digits of a number as they were sent; `undefined` for anything else.
   * Paths outside the plan cost another pass.
   */
  exactText(path: JsonPath): string | undefined {
    const value = readPath(this.value, path);
    if (typeof value === "string") return value;
    if (typeof value !== "number") return undefined;
    const [findings, node] = this.#locate(path);
    // An array's length is an own number too, but it does not stand in the text.
    return findings.textAt(node, this.#reading.text) || undefined;
  }

  #locate(path: JsonPath): readonly [Findings, PlanNode] {
    const { text, plan, findings } = this.#reading;
    const node = planNode(plan, path);
    if (node !== undefined) return [findings, node];
    const own = bodyPlan({ watch: [path], depthMax: plan.depthMax });
    return [scan(text, own), planNode(own, path) ?? own.root];
  }
}

/** What stands for a body that cannot be read: the digest is of all its bytes. */
export function unreadableBody(cause: UnreadableCause, bytes: Uint8Array, { rule }: BodyPlan): UnreadableBody {
  return { kind: "unreadable", cause, digest: `${rule}:${hash("sha256", bytes, "hex")}` };
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/**
 * The digest of what was sent, less the volatile values. Valid UTF-8 has one spelling, so hashing the
 * rest of the text hashes the rest of the bytes; nothing is serialised again.
 */
function digestOf(bytes: Uint8Array, { decoded, plan, findings }: BodyText): string {
  const { cuts } = findings;
  if (cuts.length === 0) return `${plan.rule}:${hash("sha256", bytes, "hex")}`;
  const offset = decoded.startsWith(byteOrderMark) ? 1 : 0;
  let kept = "";
  let from = 0;
  for (let index = 0; index < cuts.length; index += 2) {
    kept += decoded.slice(from, (cuts[index] ?? 0) + offset);
    from = (cuts[index + 1] ?? 0) + offset;
  }
  return `${plan.rule}:${hash("sha256", kept + decoded.slice(from), "hex")}`;
}
