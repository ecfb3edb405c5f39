/**
 * The providers: real HTTP servers that lose answers, refuse, hang, forget keys, and are slow to list
 * what they did. What each request is to meet is set before it goes out; the reference judges it on arrival.
 */
import { type FakeProvider, startFakeProvider } from "../../src/testing/fake-provider.ts";
import type { Fault } from "../../src/testing/provider-fault.ts";
import type { ProviderRequest } from "../../src/testing/provider-request.ts";
import type { ReferenceProvider } from "./reference-provider.ts";

export const keyLifetimeMs = 5 * 60_000;

/** How long an effect is missing from the provider's list: less than the settle delay that effects declare. */
const lagMs = 6_000;

export const faults = {
  lost: { when: "after", kind: "reset" },
  closed: { when: "after", kind: "close" },
  cut: { when: "after", kind: "half-close" },
  gateway: { when: "after", kind: "answer", status: 504, body: "canary" },
  reset: { when: "before", kind: "reset" },
  unavailable: { when: "before", kind: "answer", status: 503, body: "canary" },
  busy: { when: "before", kind: "answer", status: 429, headers: { "retry-after": "20" } },
  invalid: { when: "before", kind: "answer", status: 400, body: "canary" },
  locked: { when: "before", kind: "answer", status: 401 },
  kept: { when: "before", kind: "answer", status: 500, body: "canary", kept: true },
  hangs: { when: "before", kind: "hold" },
  silent: { when: "after", kind: "hold" },
} as const satisfies Record<string, Fault>;
export type FaultName = keyof typeof faults;

/** Statuses by which a provider says that it did nothing. */
const refusals: readonly FaultName[] = ["busy", "invalid", "locked"];

export class Carriers implements AsyncDisposable {
  readonly keeping: FakeProvider;
  readonly ignoring: FakeProvider;
  /** Faults for the next requests that arrive, in order; sent and looked up apart. */
  readonly next: { POST: FaultName[]; GET: FaultName[] } = { POST: [], GET: [] };
  readonly problems: string[] = [];
  readonly #reference: ReferenceProvider;
  readonly #nowMs: () => number;
  /** When each effect was done, by operation; one that was held is listed at once. */
  readonly #listedFromMs: Map<string, number> = new Map();
  /** Operations whose request hangs before its effect. */
  readonly #hanging: Set<string> = new Set();

  private constructor(
    [keeping, ignoring]: readonly [FakeProvider, FakeProvider],
    { reference, nowMs }: { readonly reference: ReferenceProvider; readonly nowMs: () => number },
  ) {
    this.keeping = keeping;
    this.ignoring = ignoring;
    this.#reference = reference;
    this.#nowMs = nowMs;
    for (const provider of this.#all) provider.failWhen((request) => this.#meets(request));
  }

  static async start(options: {
    readonly reference: ReferenceProvider;
    readonly nowMs: () => number;
  }): Promise<Carriers> {
    const clock = { wallMs: options.nowMs };
    const keyLifetime = `${keyLifetimeMs}ms` as const;
    const keeping = await startFakeProvider({ contract: "keeps", keyLifetime, clock });
    return new Carriers([keeping, await startFakeProvider({ contract: "ignores" })], options);
  }

  get #all(): readonly FakeProvider[] {
    return [this.keeping, this.ignoring];
  }

  get urls(): { readonly keeping: string; readonly ignoring: string } {
    return { keeping: this.keeping.url, ignoring: this.ignoring.url };
  }

  /** Requests that wait at a provider now. */
  get held(): number {
    return this.keeping.held + this.ignoring.held;
  }

  /** What was really done for an operation, oldest first. */
  effects(ref: string): readonly string[] {
    return this.#all.flatMap(({ effects }) => effects.filter((effect) => effect.ref === ref).map(({ id }) => id));
  }

  /** Lets every held request go on. */
  release(): void {
    this.#hanging.clear();
    for (const provider of this.#all) provider.release();
  }

  /** Nothing goes wrong from now on. */
  mend(): void {
    this.next.POST = [];
    this.next.GET = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const provider of this.#all) await provider[Symbol.asyncDispose]();
  }

  #meets(request: ProviderRequest): Fault | undefined {
    return request.method === "POST" ? this.#meetsCall(request) : this.#meetsLookup(request);
  }

  #meetsCall({ ref = "", key, body }: ProviderRequest): Fault | undefined {
    const name = this.next.POST.shift();
    const refused = name !== undefined && refusals.includes(name);
    const problem = this.#reference.arrives({ ref, key, body, atMs: this.#nowMs(), refused });
    if (problem !== undefined) this.problems.push(problem);
    const fault: Fault | undefined = name && faults[name];
    if (name === "hangs") this.#hanging.add(ref);
    else if (fault?.when !== "before" && this.effects(ref).length === 0) {
      this.#listedFromMs.set(ref, this.#nowMs() + lagMs);
    }
    return fault;
  }

  #meetsLookup({ url }: ProviderRequest): Fault | undefined {
    const ref = new URL(url, "http://carrier").searchParams.get("ref") ?? "";
    const name = this.next.GET.shift();
    const fault: Fault | undefined = name && faults[name];
    if (fault && fault.kind !== "hold") return fault;
    // Of what is still running it says neither yes nor no.
    if (this.#hanging.has(ref)) return { when: "before", kind: "answer", status: 503 };
    if (this.effects(ref).length === 0) this.#reference.saysAbsent(ref);
    else if ((this.#listedFromMs.get(ref) ?? 0) > this.#nowMs()) return unlisted;
    return fault;
  }
}

const unlisted: Fault = { when: "before", kind: "answer", status: 200, body: `{"shipments":[]}` };
