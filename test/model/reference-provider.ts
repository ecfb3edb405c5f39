/**
 * What may be asked of a provider, judged from the provider's side: each request as it arrives, against
 * what the provider has said before. It knows the truth, which no worker can, and imports nothing of the
 * product.
 */

/** A request that arrived, and what the provider makes of it. */
export interface Arrived {
  /** The operation, with its tenant. */
  readonly ref: string;
  /** The idempotency key that it came under, if any. */
  readonly key: string | undefined;
  readonly body: string;
  readonly atMs: number;
  /** Answered in a way that says that nothing was done, such as 429. */
  readonly refused: boolean;
}

interface Key {
  readonly sinceMs: number;
  readonly body: string;
}

/** One operation as its provider saw it. */
export interface ModelOperation {
  /** Something may have been done that no answer has denied. */
  open: boolean;
  readonly keys: Map<string, Key>;
  arrivals: number;
  /** How often an operator had it sent again on his own word, when it may have been done. */
  forced: number;
  /** A worker heard that it was done, in time or late. */
  heard: boolean;
  /** An operator said that it was done. */
  said: boolean;
  cancelled: boolean;
  /** Calls that were claimed before it was known that nothing is to be sent, and may still go out. */
  claimed: number;
  /** Audited actions of operators. */
  actions: number;
  /** The provider said that there is nothing, and nothing has arrived since. */
  denied: boolean;
}

export class ReferenceProvider {
  readonly operations: Map<string, ModelOperation> = new Map();
  /** How often a request came again because of an "absent". */
  sentAfterAbsent = 0;
  /** Which operation each key is of. */
  readonly #owners: Map<string, string> = new Map();
  readonly #keyLifetimeMs: number;

  constructor({ keyLifetimeMs }: { readonly keyLifetimeMs: number }) {
    this.#keyLifetimeMs = keyLifetimeMs;
  }

  operation(ref: string): ModelOperation {
    const known = this.operations.get(ref);
    if (known) return known;
    const operation: ModelOperation = {
      open: false,
      keys: new Map(),
      arrivals: 0,
      forced: 0,
      heard: false,
      said: false,
      cancelled: false,
      claimed: 0,
      actions: 0,
      denied: false,
    };
    this.operations.set(ref, operation);
    return operation;
  }

  /** Takes note of a request; gives what is wrong with sending it now, if anything is. */
  arrives({ ref, key, body, atMs, refused }: Arrived): string | undefined {
    const operation = this.operation(ref);
    const problem = this.#takenBy(ref, key) ?? this.#problem(operation, { key, body, atMs });
    operation.arrivals += 1;
    operation.claimed = Math.max(0, operation.claimed - 1);
    if (key !== undefined && !operation.keys.has(key)) operation.keys.set(key, { sinceMs: atMs, body });
    if (operation.denied) this.sentAfterAbsent += 1;
    operation.denied = false;
    if (!refused) operation.open = true;
    return problem && `${ref}: ${problem}`;
  }

  /** The provider said, truthfully, that nothing was done and nothing is under way. */
  saysAbsent(ref: string): void {
    const operation = this.operation(ref);
    operation.denied = operation.open;
    operation.open = false;
  }

  /** A worker heard of a success: whoever decides next knows it. */
  succeeds(ref: string, claimed: number): void {
    Object.assign(this.operation(ref), { heard: true, claimed });
  }

  /** An operator gave it up. */
  cancels(ref: string, claimed: number): void {
    Object.assign(this.operation(ref), { cancelled: true, claimed });
  }

  /** An operator takes it on himself that nothing was done. */
  force(ref: string): void {
    const operation = this.operation(ref);
    if (operation.open) operation.forced += 1;
    operation.open = false;
  }

  #takenBy(ref: string, key: string | undefined): string | undefined {
    if (key === undefined) return undefined;
    const owner = this.#owners.get(key) ?? ref;
    this.#owners.set(key, owner);
    return owner === ref ? undefined : `sent under the key of ${owner}`;
  }

  #problem(
    { keys, open, heard, said, cancelled, claimed }: ModelOperation,
    { key, body, atMs }: Pick<Arrived, "key" | "body" | "atMs">,
  ): string | undefined {
    if (said) return "sent after an operator said that it was done";
    if (heard && claimed === 0) return "sent after a worker had heard that it was done";
    if (cancelled && claimed === 0) return "sent after it was cancelled";
    const [first] = keys.values();
    if (first && first.body !== body) return "sent with another body than before";
    const used = key === undefined ? undefined : keys.get(key);
    if (used) {
      const ageMs = atMs - used.sinceMs;
      return ageMs < this.#keyLifetimeMs ? undefined : `sent under a key of ${ageMs} ms, which is forgotten`;
    }
    return open ? "sent again, though nobody said that the first was not done" : undefined;
  }
}
