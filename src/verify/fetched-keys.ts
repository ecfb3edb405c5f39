/**
 * Keys that senders name and that have to be fetched: certificates by URL, JWKs by id. Whoever can reach
 * the endpoint can name any number of them, so fetches are few at a time, each bounded in time and size,
 * and what could not be had is remembered for a while too. A key that was had before is fetched again
 * whatever strangers name meanwhile: of those there are few, and nobody makes one up.
 */

/**
 * Fetches the key of a name: the PEM text of the certificate at a URL, or the JWK as JSON of a key id.
 * Give `null` where the provider knows no such key; a throw counts as "not now".
 */
export type FetchKey = (name: string, options: { readonly signal: AbortSignal }) => Promise<string | null>;

const known = { max: 64, forMs: 3_600_000 };
/** A key that cannot be fetched again just now goes on for so long after it was last had. */
const lapsedMs = 24 * 3_600_000;
const missing = { max: 256, forMs: 60_000 };
const atOnceMax = 4;
const fetchMs = 2_000;
export const keyCharsMax = 65_536;
const nameCharsMax = 512;

interface Found<Key> {
  readonly key: Key | undefined;
  readonly fetchedMs: number;
  readonly untilMs: number;
}

export class FetchedKeys<Key> {
  readonly #fetch: FetchKey;
  readonly #read: (text: string, name: string) => Key | undefined;
  readonly #known = new Map<string, Found<Key>>();
  readonly #missing = new Map<string, Found<Key>>();
  readonly #fetching = new Map<string, Promise<void>>();
  /** Names that are fetched and that no key was had of. */
  #unproven = 0;

  /** `read` makes a key of what was fetched; `undefined` where it is none. */
  constructor(fetch: FetchKey, read: (text: string, name: string) => Key | undefined) {
    this.#fetch = fetch;
    this.#read = read;
  }

  /** The key, as far as it is known by now; `undefined` where it has to be fetched first. */
  get(name: string, nowMs: number): Key | "missing" | undefined {
    if (name.length > nameCharsMax) return "missing";
    const found = this.#known.get(name) ?? this.#missing.get(name);
    if (found === undefined || found.untilMs <= nowMs) return undefined;
    return found.key ?? "missing";
  }

  /** Fetches a key once for all that wait for it. Never rejects; where too many are fetched it does nothing. */
  fetch(name: string, nowMs: number): Promise<void> {
    const running = this.#fetching.get(name);
    if (running !== undefined) return running;
    const unproven = this.#known.has(name) ? 0 : 1;
    if (unproven > 0 && this.#unproven >= atOnceMax) return Promise.resolve();
    this.#unproven += unproven;
    const fetching = this.#fetchOne(name, nowMs).finally(() => {
      this.#unproven -= unproven;
      this.#fetching.delete(name);
    });
    this.#fetching.set(name, fetching);
    return fetching;
  }

  async #fetchOne(name: string, nowMs: number): Promise<void> {
    let key: Key | undefined;
    try {
      const text = await within(this.#fetch, name);
      key = text === null || text.length > keyCharsMax ? undefined : this.#read(text, name);
    } catch {
      const last = this.#known.get(name);
      if (last !== undefined && nowMs - last.fetchedMs < lapsedMs) {
        this.#known.set(name, { ...last, untilMs: nowMs + missing.forMs });
        return;
      }
    }
    this.#known.delete(name);
    this.#missing.delete(name);
    const [map, { max, forMs }] = key === undefined ? [this.#missing, missing] : [this.#known, known];
    const [oldest] = map.keys();
    if (map.size >= max && oldest !== undefined) map.delete(oldest);
    map.set(name, { key, fetchedMs: nowMs, untilMs: nowMs + forMs });
  }
}

/** A fetcher that does not heed its signal is not waited for either. */
async function within(fetch: FetchKey, name: string): Promise<string | null> {
  const signal = AbortSignal.timeout(fetchMs);
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  return Promise.race([fetch(name, { signal }), late]);
}
