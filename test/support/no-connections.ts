import { Connections } from "../../src/inbox/connections.ts";
import type { Runtime } from "../../src/work/runtime.ts";

/** For an operator at obligations alone. */
export function noConnections({ limits, clock }: Runtime): Connections {
  return new Connections({ listed: new Map(), sources: [], limits, clock });
}
