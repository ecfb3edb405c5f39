/** The name that events in conflict wait for while their source is asked, and that nobody else can use. */
import type { Prerequisite } from "../domain/outcome.ts";
import type { ResourceKey } from "../store/store.ts";

/** Names of things that users wait for have no control characters. */
const mark = "\u0001";

export function refreshed({ connection, account, kind, id }: ResourceKey): Prerequisite {
  return { kind: `${mark}${kind}`, id: JSON.stringify([connection, account, id]) };
}

/** The resource behind such a name; `undefined` for a name of the user's. */
export function refreshedKey(name: Prerequisite | null): ResourceKey | undefined {
  if (name === null || !name.kind.startsWith(mark)) return undefined;
  const [connection, account, id] = JSON.parse(name.id) as readonly [string, string, string];
  return { connection, account, kind: name.kind.slice(mark.length), id };
}
