import { readPath, type JsonPath } from "../domain/json.ts";
import { bodyPlan, planNode } from "./body-plan.ts";
import { readText, type UnreadableBody, unreadableBody } from "./parse-body.ts";
import { stringEnd } from "./scan.ts";

/**
 * Cuts a body that holds many events into its items, each as it stands in the body: nothing is written
 * anew, so that an item's digest and digits are those of the bytes that were signed.
 *
 * What is wrong within an item, such as a number that is not finite, is left for its own reading to find.
 *
 * @example
 * ```ts
 * const items = splitBatch(Buffer.from('{"events":[{"id":1},{"id":2}]}'), ["events"]);
 * Array.isArray(items) && items.map(String); // ['{"id":1}', '{"id":2}']
 * ```
 */
export function splitBatch(content: Uint8Array, path: JsonPath): Uint8Array[] | UnreadableBody {
  const plan = bodyPlan({ watch: [path] });
  const read = readText(content, plan);
  if (typeof read === "string") return unreadableBody(read, content, plan);
  const { text, value, findings } = read;
  const node = planNode(plan, path) ?? plan.root;
  const isList = Array.isArray(readPath(value, path)) && !findings.isRepeated(node);
  return isList ? elementsOf(findings.textAt(node, text)) : unreadableBody("not_a_batch", content, plan);
}

/** The elements of a list, given as its valid text from bracket to bracket. */
function elementsOf(list: string): Uint8Array[] {
  const elements: Uint8Array[] = [];
  let depth = 0;
  let start = 1;
  const cut = (end: number): void => {
    const element = list.slice(start, end).trim();
    // Only an empty list has nothing between its brackets.
    if (element !== "") elements.push(Buffer.from(element));
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
