/**
 * What a fake provider did and whom it promised what: effects, idempotency keys and counts.
 *
 * Everything is a list of facts, applied to memory one by one and appended to a file where one is
 * given, so that a provider started again on the same file goes on with the same counts. One provider
 * writes a file at a time.
 */
import { appendFileSync, existsSync, readFileSync, truncateSync } from "node:fs";
import type { Json } from "../domain/json.ts";
import type { ProviderAnswer } from "./provider-fault.ts";

/** One effect that the provider performed. */
export interface ProviderEffect {
  readonly id: string;
  /** The Idempotency-Key of the request. */
  readonly key?: string | undefined;
  /** The body's own `ref`. */
  readonly ref?: string | undefined;
  readonly body: Json;
}

/** Requests and effects, counted apart. */
export interface RequestCount {
  readonly requests: number;
  readonly effects: number;
}

/** What a provider counted, also served at `GET /counts`. */
export interface ProviderCounts extends RequestCount {
  readonly lookups: number;
  /** By Idempotency-Key. */
  readonly byKey: Readonly<Record<string, RequestCount>>;
  /** By the body's `ref`. */
  readonly byRef: Readonly<Record<string, RequestCount>>;
}

/** What the provider makes of an idempotency key and a body. */
export type KeyState =
  | { readonly kind: "fresh" | "running" | "reused" }
  | { readonly kind: "kept"; readonly answer: ProviderAnswer };

/** Who sent a request: its Idempotency-Key and the `ref` in its body. */
export interface Sender {
  readonly key?: string | undefined;
  readonly ref?: string | undefined;
}

type Fact =
  | ({ readonly kind: "request" } & Sender)
  | { readonly kind: "lookup" }
  | ({ readonly kind: "effect" } & ProviderEffect)
  | {
      readonly kind: "kept";
      readonly key: string;
      readonly digest: string;
      readonly sinceMs: number;
      readonly answer: ProviderAnswer;
    };

interface KeptKey {
  readonly digest: string;
  readonly sinceMs: number;
  /** Absent while the first request under the key still runs. */
  readonly answer?: ProviderAnswer;
}

type Counter = { -readonly [name in keyof RequestCount]: number };

/** Settings of {@link ProviderLedger}. */
export interface ProviderLedgerOptions {
  readonly file: string | undefined;
  readonly keyLifetimeMs: number;
  readonly nowMs: () => number;
}

/** The facts of one fake provider. */
export class ProviderLedger {
  readonly #options: ProviderLedgerOptions;
  readonly #effects: ProviderEffect[] = [];
  readonly #keys: Map<string, KeptKey> = new Map();
  readonly #byKey: Map<string, Counter> = new Map();
  readonly #byRef: Map<string, Counter> = new Map();
  #requests = 0;
  #lookups = 0;

  constructor(options: ProviderLedgerOptions) {
    this.#options = options;
    if (options.file !== undefined) for (const fact of readFacts(options.file)) this.#apply(fact);
  }

  get effects(): readonly ProviderEffect[] {
    return this.#effects;
  }

  get counts(): ProviderCounts {
    return {
      requests: this.#requests,
      lookups: this.#lookups,
      effects: this.#effects.length,
      byKey: Object.fromEntries([...this.#byKey].map(([key, count]) => [key, { ...count }])),
      byRef: Object.fromEntries([...this.#byRef].map(([ref, count]) => [ref, { ...count }])),
    };
  }

  countRequest({ key, ref }: Sender): void {
    this.#record({ kind: "request", key, ref });
  }

  /** Counts a lookup and lists the effects whose `ref` or key is this name. */
  lookUp(name: string): readonly ProviderEffect[] {
    this.#record({ kind: "lookup" });
    return this.#effects.filter(({ key, ref }) => ref === name || key === name);
  }

  /** Reserves the key if it is fresh; from then on it runs until {@link ProviderLedger.keep}. */
  reserve(key: string, digest: string): KeyState {
    const nowMs = this.#options.nowMs();
    const kept = this.#keys.get(key);
    // Only an answered key is forgotten: what still runs is not yet anything to forget.
    const forgotten = kept?.answer && nowMs - kept.sinceMs >= this.#options.keyLifetimeMs;
    if (!kept || forgotten) {
      this.#keys.set(key, { digest, sinceMs: nowMs });
      return { kind: "fresh" };
    }
    if (kept.digest !== digest) return { kind: "reused" };
    return kept.answer ? { kind: "kept", answer: kept.answer } : { kind: "running" };
  }

  /** Performs one effect; the answer, made from its id, is kept under the key that was reserved for it. */
  perform(request: Sender & { readonly body: Json }, answerFor: (id: string) => ProviderAnswer): ProviderAnswer {
    const id = `shp_${this.#effects.length + 1}`;
    const answer = answerFor(id);
    const { key, ref, body } = request;
    this.#record({ kind: "effect", id, key, ref, body }, ...this.#keptFact(key, answer));
    return answer;
  }

  /** Keeps an answer that stands for no effect, such as an error that the provider stores. */
  keep(key: string, digest: string, { status, body = "" }: { readonly status: number; readonly body?: string }): void {
    if (this.reserve(key, digest).kind === "fresh") this.#record(...this.#keptFact(key, { status, body }));
  }

  #keptFact(key: string | undefined, answer: ProviderAnswer): Fact[] {
    const reserved = key === undefined ? undefined : this.#keys.get(key);
    return key === undefined || !reserved ? [] : [{ ...reserved, kind: "kept", key, answer }];
  }

  #record(...facts: readonly Fact[]): void {
    if (this.#options.file !== undefined) {
      // One write: an effect and the answer kept for it are in the file together or not at all.
      appendFileSync(this.#options.file, facts.map((fact) => `${JSON.stringify(fact)}\n`).join(""));
    }
    for (const fact of facts) this.#apply(fact);
  }

  #apply(fact: Fact): void {
    switch (fact.kind) {
      case "request":
        this.#requests += 1;
        return this.#count(fact, "requests");
      case "lookup":
        this.#lookups += 1;
        return;
      case "effect": {
        const { kind: _, ...effect } = fact;
        this.#effects.push(effect);
        return this.#count(fact, "effects");
      }
      case "kept":
        return void this.#keys.set(fact.key, fact);
      default:
        return fact satisfies never;
    }
  }

  #count({ key, ref }: Sender, what: keyof RequestCount): void {
    if (key !== undefined) counterOf(this.#byKey, key)[what] += 1;
    if (ref !== undefined) counterOf(this.#byRef, ref)[what] += 1;
  }
}

function counterOf(counters: Map<string, Counter>, name: string): Counter {
  const counter = counters.get(name) ?? { requests: 0, effects: 0 };
  counters.set(name, counter);
  return counter;
}

function readFacts(file: string): Fact[] {
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  // A provider killed in the middle of a write leaves a torn last line, which the next write must not join.
  const whole = bytes.lastIndexOf("\n") + 1;
  if (whole < bytes.length) truncateSync(file, whole);
  const lines = bytes.toString("utf8", 0, whole).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Fact);
}
