import type { JsonPath } from "../domain/json.ts";
import { fixed } from "../domain/limits.ts";

/** One step of the declared paths. Siblings share a parent, so a body is walked once for all of them. */
export interface PlanNode {
  /** Position in the tables that a scan fills. */
  readonly index: number;
  readonly children: ReadonlyMap<string, PlanNode>;
  /** The value here is cut out before the digest is taken. */
  readonly volatile: boolean;
}

/** Which paths a scan looks for, made ready once per connection. */
export interface BodyPlan {
  readonly root: PlanNode;
  readonly size: number;
  readonly depthMax: number;
  /** Names the digest's rule: its version and the paths it leaves out, as JSON pointers. */
  readonly rule: string;
}

export interface BodyPlanOptions {
  /** Paths whose exact text is wanted and where a repeated key matters: id, type, account, revision. */
  readonly watch?: readonly JsonPath[];
  /** Paths whose values may change between deliveries of one event. */
  readonly volatile?: readonly JsonPath[];
  /** Nested arrays and objects that are accepted. */
  readonly depthMax?: number;
}

interface Draft {
  readonly index: number;
  readonly children: Map<string, Draft>;
  volatile: boolean;
}

/** Changes when the digest is taken in another way; digests of other versions then count as "cannot tell". */
const ruleVersion = "1";

/**
 * Makes a plan for reading bodies.
 *
 * @example
 * ```ts
 * bodyPlan({ watch: [["id"]], volatile: [["pending_webhooks"]] }).rule; // "1/pending_webhooks"
 * ```
 */
export function bodyPlan({ watch = [], volatile = [], depthMax = fixed.jsonDepth }: BodyPlanOptions): BodyPlan {
  const root: Draft = { index: 0, children: new Map(), volatile: false };
  let size = 1;
  const draft = (path: JsonPath): Draft => {
    let node = root;
    for (const step of path) {
      const next = node.children.get(String(step)) ?? { index: size++, children: new Map(), volatile: false };
      node.children.set(String(step), next);
      node = next;
    }
    return node;
  };
  for (const path of watch) draft(path);
  for (const path of volatile) draft(path).volatile = true;
  const pointers = volatile.map((path) => path.map((step) => `/${encodeURIComponent(step)}`).join(""));
  return { root, size, depthMax, rule: ruleVersion + pointers.toSorted().join(",") };
}

/** The volatile paths that a rule names, or `undefined` when it is of another version. */
export function volatileOf(rule: string): readonly JsonPath[] | undefined {
  if (rule === ruleVersion) return [];
  if (!rule.startsWith(`${ruleVersion}/`)) return undefined;
  const pointers = rule.slice(ruleVersion.length).split(",");
  return pointers.map((pointer) =>
    pointer
      .slice(1)
      .split("/")
      .map((step) => decodeURIComponent(step)),
  );
}

/** The node that stands for a path, if the plan has it. */
export function planNode({ root }: BodyPlan, path: JsonPath): PlanNode | undefined {
  let node: PlanNode | undefined = root;
  for (const step of path) node = node?.children.get(String(step));
  return node;
}
