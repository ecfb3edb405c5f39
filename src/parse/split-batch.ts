import { readPath, type JsonPath } from "../domain/json.ts";
import { bodyPlan, planNode } from "./body-plan.ts";
import { type BodyText, readText, type UnreadableBody, unreadableBody } from "./parse-body.ts";
import { stringEnd } from "./scan.ts";

/** Where the items of a batch stand. */
export interface BatchPlace {
  readonly path: JsonPath;
  /** Where in an item a list of further items stands. */
  readonly within?: JsonPath | undefined;
}

/** What items of inner lists may repeat of what stands around those: each has a copy of it. */
const repeatedCharsMax = 4 * 1024 * 1024;

/**
 * Cuts a body that holds many events into its items, each as it stands in the body: nothing is written
 * anew, so that an item's digest and digits are those of the bytes that were signed.
 *
 * An item with an inner list is one item for each element of that list: the item's own text with the other
 * elements left out, so that what they share, such as an account, stands with each. An item whose inner list
 * is empty, repeated or missing stays one.
 *
 * What is wrong within an item, such as a number that is not finite, is left for its own reading to find.
 *
 * @example
 * ```ts
 * const items = splitBatch(Buffer.from('{"events":[{"id":1},{"id":2}]}'), { path: ["events"] });
 * Array.isArray(items) && items.map(String); // ['{"id":1}', '{"id":2}']
 * const inner = splitBatch(Buffer.from('[{"of":7,"ids":[1,2]}]'), { path: [], within: ["ids"] });
 * Array.isArray(inner) && inner.map(String); // ['{"of":7,"ids":[1]}', '{"of":7,"ids":[2]}']
 * ```
 */
export function splitBatch(content: Uint8Array, { path, within }: BatchPlace): Uint8Array[] | UnreadableBody {
  const plan = bodyPlan({ watch: [path] });
  const read = readText(content, plan);
  if (typeof read === "string") return unreadableBody(read, content, plan);
  const { start, end } = listIn(read, path) ?? {};
  if (start === undefined) return unreadableBody("not_a_batch", content, plan);
  const items = elementsOf(read.text.slice(start, end));
  const all = within === undefined ? items : splitItems(items, within);
  return all?.map((item) => Buffer.from(item)) ?? unreadableBody("not_a_batch", content, plan);
}

/** Where the one list at a path begins and ends; `undefined` where there is none, or another reader may see another. */
function listIn(
  { value, findings, plan }: BodyText,
  path: JsonPath,
): { readonly start: number; readonly end: number } | undefined {
  const node = planNode(plan, path) ?? plan.root;
  if (!Array.isArray(readPath(value, path)) || findings.isRepeated(node)) return undefined;
  const [start, end] = findings.spanOf(node);
  return { start, end };
}

/** Each item by the elements of its inner list; `undefined` where that would repeat too much. */
function splitItems(items: readonly string[], within: JsonPath): readonly string[] | undefined {
  const plan = bodyPlan({ watch: [within] });
  const all: string[] = [];
  let repeated = 0;
  for (const item of items) {
    const read = readText(Buffer.from(item), plan);
    const list = typeof read === "string" ? undefined : listIn(read, within);
    const elements = list === undefined ? [] : elementsOf(item.slice(list.start, list.end));
    if (list === undefined || elements.length === 0) {
      all.push(item);
      continue;
    }
    const [before, after] = [item.slice(0, list.start), item.slice(list.end)];
    repeated += (elements.length - 1) * (before.length + after.length);
    if (repeated > repeatedCharsMax) return undefined;
    for (const element of elements) all.push(`${before}[${element}]${after}`);
  }
  return all;
}

/** The elements of a list, given as its valid text from bracket to bracket. */
function elementsOf(list: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 1;
  const cut = (end: number): void => {
    const element = list.slice(start, end).trim();
    // Only an empty list has nothing between its brackets.
    if (element !== "") elements.push(element);
    start = end + 1;
  };
  for (let at = 0; at < list.length; at++) {
    const character = list[at];
    if (character === '"') at = stringEnd(list, at + 1) - 1;
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
    else if (character === "," && depth === 1) cut(at);
  }
  cut(list.length - 1);
  return elements;
}
