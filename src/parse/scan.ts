/**
 * One pass over the text of a JSON body, without recursion and almost without allocation, for what
 * `JSON.parse` cannot tell: how deep it is, where a key stands twice, which digits a number had.
 *
 * It does not check the grammar. On text that `JSON.parse` accepts its findings are exact; on other
 * text they are not used, and the pass still ends, because it only ever moves forward.
 */
import type { BodyPlan, PlanNode } from "./body-plan.ts";
import { Findings } from "./findings.ts";

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const letterA = 0x61;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The element index of an object, which has none. */
const noIndex = -1;

/** Scans a body's text for what its plan wants to know; a byte order mark must be gone. */
export function scan(text: string, plan: BodyPlan): Findings {
  const findings = new Findings(plan.size);
  const outer: (PlanNode | undefined)[] = [];
  const starts: number[] = [];
  const indexes: number[] = [];
  // The plan's node of the innermost open container, and of the value that comes next; undefined off the paths.
  let container: PlanNode | undefined;
  let value: PlanNode | undefined = plan.root;
  let keyIsNext = false;

  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const end = stringEnd(text, at + 1);
      if (keyIsNext && container !== undefined) {
        value = container.children.get(keyText(text, at, end));
        if (value !== undefined) findings.meetKey(value);
        keyIsNext = false;
      } else if (value !== undefined) {
        findings.meetValue(value, at, end);
        value = undefined;
      }
      at = end - 1;
    } else if (code === openBrace || code === openBracket) {
      if (outer.length === plan.depthMax) return findings.stopTooDeep();
      outer.push(container);
      starts.push(at);
      indexes.push(code === openBrace ? noIndex : 0);
      container = value;
      keyIsNext = code === openBrace;
      value = code === openBracket ? container?.children.get("0") : undefined;
    } else if (code === closeBrace || code === closeBracket) {
      if (container !== undefined) findings.meetValue(container, starts.at(-1) ?? 0, at + 1);
      container = outer.pop();
      starts.pop();
      indexes.pop();
      value = undefined;
      keyIsNext = false;
    } else if (code === comma && container !== undefined) {
      const index = indexes.at(-1) ?? noIndex;
      keyIsNext = index === noIndex;
      if (keyIsNext) continue;
      indexes[indexes.length - 1] = index + 1;
      value = container.children.get(String(index + 1));
    } else if (code === minus || (code >= zero && code <= nine) || code >= letterA) {
      const end = scalarEnd(text, at + 1);
      if (code < letterA) findings.meetNumber(text, at, end);
      if (value !== undefined) findings.meetValue(value, at, end);
      value = undefined;
      at = end - 1;
    }
  }
  return findings;
}

/** Just past the quote that ends a string: the first one with an even number of backslashes before it. */
export function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (before >= from && text.charCodeAt(before) === backslash) before--;
    if ((end - before) % 2 === 1) return end + 1;
  }
  return text.length;
}

/** Just past a number or literal, which ends where its delimiter stands. */
function scalarEnd(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= 0x20 || code === comma || code === closeBracket || code === closeBrace) break;
  }
  return at;
}

/** A key as `JSON.parse` reads it: `"\u0069d"` is `id` too. Text that is no string is no key either. */
function keyText(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  if (!raw.includes("\\")) return raw;
  try {
    return JSON.parse(text.slice(start, end)) as string;
  } catch {
    return raw;
  }
}
