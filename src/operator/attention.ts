/**
 * What needs a person: what the store lists, and before it what no row says by itself: a connection that
 * fell silent, one of which every delivery is refused, and a secret that ends.
 *
 * What is watched by a setting is known only to processes that have the setting, so that a notice of it is
 * forgotten only by such a process (`watchedKeys`): another one does not make it news again.
 */
import type { Instant } from "../domain/instant.ts";
import type { AttentionPage, Attention as Listed } from "../store/reader.ts";
import type { RefusalFacts } from "../store/store.ts";
import type { Acting } from "./acting.ts";

/** What connections and their newest events tell. */
export type Watched =
  /** No new event has come for longer than the connection's `silentAfter`; `since` the last one. */
  | { readonly kind: "silence"; readonly connection: string; readonly since: Instant }
  /** Ten deliveries at least were refused in the last hour, by cause, and none was taken since the first. */
  | {
      readonly kind: "refusals";
      readonly connection: string;
      readonly since: Instant;
      readonly causes: Readonly<Record<string, number>>;
    }
  /** A secret ends within a week and no other of its connection lasts longer; or it has ended. */
  | {
      readonly kind: "secret";
      readonly connection: string;
      readonly secretId: string;
      readonly until: Instant;
      readonly isOver: boolean;
    };

/** One thing that needs a person. `cursor` says where the list goes on behind it. */
export type Attention = Listed | ({ readonly cursor: string } & Watched);

type Watching = Pick<Acting, "runtime" | "connections">;

/** How long beforehand the end of a secret is told. */
const secretEndsMs = 7 * 86_400_000;
const refusedWithinMs = 3_600_000;
const refusedMin = 10;
/** As many as are kept. */
const refusalsMax = 1_000;
const cursorMark = "watched.";

/** A page of the list: what is watched first, then what the store lists. */
export async function attentionPage(
  watching: Watching,
  { after, limit }: AttentionPage,
): Promise<readonly Attention[]> {
  const { reader } = watching.runtime.store;
  if (after !== undefined && !after.startsWith(cursorMark)) return reader.attention({ after, limit });
  const items = (await watched(watching))
    .map((item) => ({ ...item, cursor: `${cursorMark}${Buffer.from(watchedKey(item)).toString("base64url")}` }))
    .filter(({ cursor }) => after === undefined || cursor > after)
    .toSorted((left, right) => (left.cursor < right.cursor ? -1 : 1))
    .slice(0, limit);
  if (items.length === limit) return items;
  return [...items, ...(await reader.attention({ limit: limit - items.length }))];
}

/** Everything that is watched and not well. */
export async function watched(watching: Watching): Promise<readonly Watched[]> {
  return [...(await silences(watching)), ...(await refusals(watching)), ...secrets(watching)];
}

/** Names a watched item; the key of a setting's begins with `watch/`. */
export function watchedKey(item: Watched): string {
  switch (item.kind) {
    case "silence":
      return `watch/silence/${item.connection}`;
    case "refusals":
      return `refusals/${item.connection}`;
    case "secret":
      return `watch/secret/${item.connection}/${item.secretId}/${item.isOver ? "over" : "ends"}`;
    default:
      throw new Error(`Bug: no such thing is watched: ${String(item satisfies never)}`);
  }
}

/** Every key that the settings of this process may give. */
export function watchedKeys({ connections }: Pick<Watching, "connections">): readonly string[] {
  return [...connections.atHand().values()].flatMap(({ id: connection, silentAfterMs, endingSecrets }) => [
    ...(silentAfterMs === null ? [] : [`watch/silence/${connection}`]),
    ...endingSecrets.flatMap(({ id }) => ["over", "ends"].map((end) => `watch/secret/${connection}/${id}/${end}`)),
  ]);
}

async function silences({ runtime, connections }: Watching): Promise<Watched[]> {
  const now = runtime.clock.wallMs();
  const silent: Watched[] = [];
  for (const { id: connection, silentAfterMs } of connections.listed.values()) {
    if (silentAfterMs === null) continue;
    const since = await lastEventAt({ runtime }, connection);
    if (since !== undefined && now - since > silentAfterMs) silent.push({ kind: "silence", connection, since });
  }
  return silent;
}

async function refusals({ runtime }: Pick<Watching, "runtime">): Promise<Watched[]> {
  const refused: Watched[] = [];
  for (const [connection, facts] of await refusedLately({ runtime })) {
    const since = Math.min(...facts.map(({ at }) => at));
    const taken = facts.length < refusedMin ? undefined : await lastEventAt({ runtime }, connection);
    if (facts.length < refusedMin || (taken !== undefined && taken >= since)) continue;
    refused.push({ kind: "refusals", connection, since, causes: countByCause(facts) });
  }
  return refused;
}

/** What was refused in the last hour, by connection; of very many the newest. */
export async function refusedLately({
  runtime: { store, clock },
}: Pick<Watching, "runtime">): Promise<ReadonlyMap<string, readonly RefusalFacts[]>> {
  const since = clock.wallMs() - refusedWithinMs;
  const lately = (await store.reader.refusals({ limit: refusalsMax })).filter(({ at }) => at > since);
  return Map.groupBy(lately, ({ connection }) => connection);
}

export function countByCause(facts: readonly RefusalFacts[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { cause } of facts) counts[cause] = (counts[cause] ?? 0) + 1;
  return counts;
}

function secrets({ runtime, connections }: Watching): Watched[] {
  const now = runtime.clock.wallMs();
  return [...connections.atHand().values()].flatMap(({ id: connection, keyring, endingSecrets }) => {
    const lasts = new Set(endingSecrets.filter(({ until }) => until - now <= secretEndsMs).map(({ id }) => id));
    const hasLonger = keyring.secretIds.some((id) => !lasts.has(id));
    return endingSecrets.flatMap(({ id: secretId, until }): Watched[] => {
      const isOver = until <= now;
      if (!isOver && (hasLonger || until - now > secretEndsMs)) return [];
      return [{ kind: "secret", connection, secretId, until, isOver }];
    });
  });
}

/** When the newest event of a connection came; `undefined` where none ever did. */
export async function lastEventAt(
  { runtime }: Pick<Watching, "runtime">,
  connection: string,
): Promise<Instant | undefined> {
  const [newest] = await runtime.store.reader.receipts({ connection }, { limit: 1 });
  return newest?.receivedAt;
}
