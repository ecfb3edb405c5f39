import type { Connections } from "../inbox/connections.ts";
import type { Runtime } from "../work/runtime.ts";

/** What the HTTP thread reads of the application that it loads. */
export interface Fronted {
  readonly runtime: Runtime;
  readonly connections: Connections;
  readonly basePath: string;
  readonly problems: readonly string[];
}
