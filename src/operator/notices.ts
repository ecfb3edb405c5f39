/**
 * Tells somebody of what needs a person: of each thing once, whatever number of processes looks, and
 * over restarts, by marks in the database.
 *
 *   list -> claim the keys that nobody was told of -> tell -> mark as told
 *
 * A process that dies while it tells leaves a claim that ends, and another tells then: at least once, and
 * twice only so. What could not be told is told at the next look. What leaves the list and comes back is
 * news. Of a list longer than `listMax` its beginning is told, and the rest as that is decided.
 */
import type { Runtime } from "../work/runtime.ts";
import { transact } from "../work/transact.ts";
import type { Acting } from "./acting.ts";
import { type Attention, attentionPage, watchedKeys } from "./attention.ts";
import { attentionKey } from "./describe-attention.ts";

const pageRows = 500;
const listMax = 2_000;
/** Things of one message. */
const tellMax = 100;

export class Notices {
  readonly #runtime: Runtime;
  readonly #watching: Pick<Acting, "runtime" | "connections">;
  readonly #tell: (items: readonly Attention[]) => void | Promise<void>;

  constructor(
    watching: Pick<Acting, "runtime" | "connections">,
    tell: (items: readonly Attention[]) => void | Promise<void>,
  ) {
    this.#runtime = watching.runtime;
    this.#watching = watching;
    this.#tell = tell;
  }

  /** Looks once, and tells what is new; rejects where that could not be told. */
  async run(): Promise<boolean> {
    const items = await this.#list();
    const { leaseMs } = this.#runtime.limits;
    const claimed = await transact(this.#runtime, async (tx) => {
      const keys = [...items.keys()];
      if (keys.length < listMax) await tx.forgetNotices(keys, watchedKeys(this.#watching));
      return keys.length === 0 ? [] : tx.claimNotices({ keys, leaseMs });
    });
    for (let from = 0; from < claimed.length; from += tellMax) {
      await this.#tellSome(claimed.slice(from, from + tellMax), { items, rest: claimed.slice(from) });
    }
    return false;
  }

  async #list(): Promise<ReadonlyMap<string, Attention>> {
    const items = new Map<string, Attention>();
    let after: string | undefined;
    while (items.size < listMax) {
      const page = await attentionPage(this.#watching, { after, limit: pageRows });
      for (const item of page) items.set(attentionKey(item), item);
      after = page.at(-1)?.cursor;
      if (page.length < pageRows) break;
    }
    return items;
  }

  async #tellSome(
    keys: readonly string[],
    { items, rest }: { readonly items: ReadonlyMap<string, Attention>; readonly rest: readonly string[] },
  ): Promise<void> {
    try {
      await this.#inTime(async () => this.#tell(keys.flatMap((key) => items.get(key) ?? [])));
    } catch (error) {
      await transact(this.#runtime, (tx) => tx.settleNotices(rest, false));
      throw error;
    }
    await transact(this.#runtime, (tx) => tx.settleNotices(keys, true));
  }

  /** Longer than a call may take, nobody is waited for: the claim has to outlast it. */
  async #inTime(run: () => Promise<void>): Promise<void> {
    const { clock, limits } = this.#runtime;
    const late = Promise.withResolvers<never>();
    const cancel = clock.timer(limits.callMs, () =>
      late.reject(new Error(`Cannot tell of what needs you: onAttention took longer than ${limits.callMs} ms`)),
    );
    try {
      await Promise.race([run(), late.promise]);
    } finally {
      cancel();
    }
  }
}
