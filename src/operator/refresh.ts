import type { ResourceKey } from "../store/store.ts";
import { transact } from "../work/transact.ts";
import { type Acted, type Acting, tell } from "./acting.ts";
import { resourceTarget } from "./drop-refresh.ts";
import { notAllowed, notFound } from "./refusal.ts";

/** Names a resource, and why it is asked for. */
export interface RefreshAction extends ResourceKey {
  readonly why?: string | undefined;
}

/** Asks for a resource at its source once more: one that failed for good, or one that somebody doubts. */
export async function refresh(acting: Acting, { why, ...given }: RefreshAction): Promise<Acted> {
  const { runtime, connections, who } = acting;
  const { connection: connectionId, account, kind, id } = given;
  const thing = `${kind} "${id}"`;
  const connection = await connections.find(connectionId);
  if (connection === undefined) throw notFound(`connection "${connectionId}"`, "no connection has this id");
  if (!runtime.resources.has(kind)) {
    throw notAllowed("refresh", thing, "no resource of this kind is registered with a fetch");
  }
  const tenant = typeof connection.tenant === "string" ? connection.tenant : connection.tenant(account);
  if (tenant === null) throw notAllowed("refresh", thing, "its account belongs to no tenant");
  const target = resourceTarget(given);
  await transact(runtime, async (tx, signals) => {
    await tx.wantRefreshes([{ connection: connectionId, account, kind, id, tenant }]);
    signals.arrived = true;
    await tx.audit({ who, action: "refresh", target, why: why ?? null, before: null, after: null });
  });
  tell(acting, "refresh", target);
  return { changed: true, says: "Its source is asked soon" };
}
