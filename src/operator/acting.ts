import type { Connections } from "../inbox/connections.ts";
import type { Runtime } from "../work/runtime.ts";

/** What every action of one operator works with. */
export interface Acting {
  readonly runtime: Runtime;
  /** Configured connections by id, whose handlers are run again. */
  readonly connections: Connections;
  /** Whose name the audit rows carry. */
  readonly who: string;
}

/** What an action did. */
export interface Acted {
  /** `false` when there was nothing to do: the thing was as asked already. */
  readonly changed: boolean;
  /** What happened, and what comes next, in one sentence. */
  readonly says: string;
}

/** Tells subscribers of an action that was committed. */
export function tell({ runtime, who }: Acting, action: string, target: string): void {
  runtime.emit({ kind: "operator.acted", action, target, who });
}
