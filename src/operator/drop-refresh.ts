import type { Refresh, ResourceKey } from "../store/refresh-writes.ts";
import { transact } from "../work/transact.ts";
import { type Acted, type Acting, tell } from "./acting.ts";
import { changed } from "./refusal.ts";

/** How the audit names a resource. */
export function resourceTarget({ connection, account, kind, id }: ResourceKey): string {
  return `resource/${JSON.stringify([connection, account, kind, id])}`;
}

/**
 * Takes back a refresh that waits or has failed, such as one of a kind that no code asks for any more; what is
 * kept of the resource stays, and the next event that wants it owes it anew.
 *
 * @throws CounterfoilError CHANGED where it runs just now, or was asked for since it was read.
 */
export async function dropRefresh(acting: Acting, refresh: Refresh, why: string | undefined): Promise<Acted> {
  const { runtime, who } = acting;
  const target = resourceTarget(refresh);
  await transact(runtime, async (tx) => {
    if (!(await tx.dropRefresh(refresh))) {
      throw changed("drop the refresh of", `${refresh.kind} "${refresh.id}"`);
    }
    const before = JSON.stringify({ dueAt: refresh.dueAt, tries: refresh.tries, reason: refresh.reason });
    await tx.audit({ who, action: "drop", target, why: why ?? null, before, after: null });
  });
  tell(acting, "drop", target);
  return { changed: true, says: "Nobody is to ask for it any more" };
}
