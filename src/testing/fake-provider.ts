/**
 * A provider to test against: a carrier on a real HTTP server that books shipments.
 *
 *   POST /v1/shipments            one effect; answers 201 `{ id, ref }`
 *   GET  /v1/shipments?ref=NAME   `{ shipments }`: the effects whose `ref` or Idempotency-Key is NAME
 *   GET  /counts                  requests and effects, counted apart
 *
 * A provider that `keeps` its idempotency contract answers by the IETF draft "The Idempotency-Key
 * HTTP Header Field" (draft-ietf-httpapi-idempotency-key-header): same key and body, the kept answer
 * again; another body, 422; the first still running, 409. One that `ignores` keys performs an effect
 * for every request, and only a lookup can tell what was done.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../domain/clock.ts";
import { durationMs, type Duration } from "../domain/duration.ts";
import type { Json } from "../domain/json.ts";
import { sendAnswer, sendFaulty, type Fault, type ProviderAnswer } from "./provider-fault.ts";
import { ProviderLedger, type ProviderCounts, type ProviderEffect } from "./provider-ledger.ts";
import { parseJson, readRequest, requestDigest, type ProviderRequest } from "./provider-request.ts";

const requestsKept = 1_000;

/** Settings of {@link startFakeProvider}. */
export interface FakeProviderOptions {
  /** Whether an Idempotency-Key is honoured. Default `"keeps"`. */
  readonly contract?: "keeps" | "ignores";
  /** Port on 127.0.0.1. Default 0, a free one. */
  readonly port?: number;
  /** A file of JSON lines that keeps effects, keys and counts over a restart. Default none. */
  readonly file?: string;
  /** How long an answered key is remembered, from its first request on. Default `"24h"`. */
  readonly keyLifetime?: Duration;
  /** Judges the life of keys. Default the system's wall clock. */
  readonly clock?: Pick<Clock, "wallMs">;
}

/**
 * Starts a {@link FakeProvider} on 127.0.0.1.
 *
 * @throws Error with code EADDRINUSE when the port is taken.
 * @example
 * ```ts
 * await using carrier = await startFakeProvider({ contract: "keeps" });
 * carrier.failNext({ when: "after", kind: "reset" }); // the shipment is booked, the answer is lost
 * const request = { method: "POST", headers: { "idempotency-key": "k1" }, body: `{"ref":"k1"}` };
 * await fetch(`${carrier.url}/v1/shipments`, request).catch(() => "lost"); // "lost"
 * const again = await fetch(`${carrier.url}/v1/shipments`, request);
 * await again.json(); // { id: "shp_1", ref: "k1" }
 * carrier.counts().byKey; // { k1: { requests: 2, effects: 1 } }
 * ```
 */
export async function startFakeProvider(options: FakeProviderOptions = {}): Promise<FakeProvider> {
  const provider = new FakeProvider(options);
  await provider.listen(options.port ?? 0);
  return provider;
}

/** A carrier that counts what it was asked and what it did, and fails as scripted. */
export class FakeProvider implements AsyncDisposable {
  readonly #keeps: boolean;
  readonly #ledger: ProviderLedger;
  readonly #server: Server;
  readonly #requests: ProviderRequest[] = [];
  readonly #scripted: { readonly POST: Fault[]; readonly GET: Fault[] } = { POST: [], GET: [] };
  #decide: (request: ProviderRequest) => Fault | undefined = () => undefined;
  #held: (() => void)[] = [];

  constructor({ contract = "keeps", file, keyLifetime = "24h", clock }: FakeProviderOptions) {
    this.#keeps = contract === "keeps";
    const nowMs = (): number => clock?.wallMs() ?? Date.now();
    this.#ledger = new ProviderLedger({ file, keyLifetimeMs: durationMs(keyLifetime), nowMs });
    // Idle connections stay open: where one closes, a test said so, never a timer.
    this.#server = createServer({ keepAliveTimeout: 0 }, (message, response) => void this.#serve(message, response));
  }

  /** Called by {@link startFakeProvider}. */
  async listen(port: number): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Requests and effects, counted apart: overall, by key and by `ref`. */
  counts(): ProviderCounts {
    return this.#ledger.counts;
  }

  /** Every effect, oldest first. */
  get effects(): readonly ProviderEffect[] {
    return this.#ledger.effects;
  }

  /** The last 1 000 POSTs and lookups that this process received, oldest first. */
  get requests(): readonly ProviderRequest[] {
    return this.#requests;
  }

  /** Scripts the next POSTs: one fault each, in this order. */
  failNext(...faults: readonly Fault[]): void {
    this.#scripted.POST.push(...faults);
  }

  /** Scripts the next lookups: one fault each, in this order. */
  failNextLookup(...faults: readonly Fault[]): void {
    this.#scripted.GET.push(...faults);
  }

  /** Decides the fault of every request without a scripted one, from now on. */
  failWhen(decide: (request: ProviderRequest) => Fault | undefined): void {
    this.#decide = decide;
  }

  /** Requests that a `hold` keeps waiting now. */
  get held(): number {
    return this.#held.length;
  }

  /** Lets every held request go on, also where the caller has given up: the effect happens all the same. */
  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const proceed of held) proceed();
  }

  /** Stops at once; held requests never go on. */
  async close(): Promise<void> {
    this.#held = [];
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.close();
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(message);
    if (request === undefined) return;
    const { method } = request;
    const { pathname, searchParams } = URL.parse(request.url, "http://carrier") ?? new URL("http://carrier/unreadable");
    if (pathname === "/counts") return sendAnswer(response, json(200, { ...this.counts() }));
    if (pathname !== "/v1/shipments") return sendAnswer(response, problem(404, "unknown_path"));
    if (method !== "POST" && method !== "GET") return sendAnswer(response, problem(405, "unknown_method"));

    this.#requests.push(request);
    if (this.#requests.length > requestsKept) this.#requests.shift();
    const fault = this.#scripted[method].shift() ?? this.#decide(request);
    const answer = method === "POST" ? await this.#book(request, fault) : this.#lookUp(searchParams.get("ref") ?? "");
    if (fault === undefined) return sendAnswer(response, answer);
    if (fault.kind !== "hold") return sendFaulty(response, answer, fault);
    if (fault.when === "after" || method === "GET") await this.#hold();
    return sendAnswer(response, answer);
  }

  /** The answer as it would be without a fault; one that strikes before the effect leaves 503 to be sent. */
  async #book(request: ProviderRequest, fault: Fault | undefined): Promise<ProviderAnswer> {
    this.#ledger.countRequest(request);
    const { ref } = request;
    const key = this.#keeps ? request.key : undefined;
    const digest = requestDigest(request);
    if (fault?.when === "before" && fault.kind !== "hold") {
      if (key !== undefined && fault.kind === "answer" && fault.kept) this.#ledger.keep(key, digest, fault);
      return problem(503, "unavailable");
    }
    const body = parseJson(request.body);
    if (body === undefined) return problem(400, "not_json");
    const state = key === undefined ? undefined : this.#ledger.reserve(key, digest);
    if (state?.kind === "reused") return problem(422, "key_reused");
    if (state?.kind === "running") return problem(409, "key_in_use");
    if (state?.kind === "kept") return { ...state.answer, headers: { "idempotent-replayed": "true" } };
    if (fault?.when === "before") await this.#hold();
    return this.#ledger.perform({ key: request.key, ref, body }, (id) => json(201, { id, ref }));
  }

  #lookUp(name: string): ProviderAnswer {
    return json(200, { shipments: this.#ledger.lookUp(name).map(({ id, ref }) => ({ id, ref })) });
  }

  async #hold(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.push(resolve);
    await promise;
  }
}

function json(status: number, body: Json | object): ProviderAnswer {
  return { status, body: JSON.stringify(body) };
}

function problem(status: number, code: string): ProviderAnswer {
  return json(status, { error: { code } });
}
