import type { Connection } from "../inbox/connection.ts";
import type { Runtime } from "../work/runtime.ts";

/** What the HTTP thread reads of the application that it loads. */
export interface Fronted {
  readonly runtime: Runtime;
  readonly connections: ReadonlyMap<string, Connection>;
  readonly basePath: string;
  readonly problems: readonly string[];
}
