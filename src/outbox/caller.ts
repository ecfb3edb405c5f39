import http, { type Agent } from "node:http";
import https from "node:https";
import type { Clock } from "../domain/clock.ts";
import type { Limits } from "../domain/limits.ts";
import type { Probe } from "../domain/probe.ts";
import type { CallResult } from "./call-result.ts";
import { mergeHeaders, type HeaderFields } from "./headers.ts";
import { httpCall } from "./http-call.ts";
import { patientResolve } from "./patient-resolve.ts";
import { checkDestination, guardedLookup, systemResolve, type Resolve } from "./ssrf-guard.ts";

/** One request to a provider. */
export interface CallRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  readonly body: Uint8Array | null;
  /** The effect's own headers, asked at send time. */
  readonly headers: HeaderFields;
  /** Headers that Counterfoil sets; they win. */
  readonly systemHeaders: HeaderFields;
}

/** Settings of {@link Caller.call}. */
export interface CallOptions {
  /** Asked once, synchronously, when the connection stands and before the first byte: key life, lease, withdrawal. */
  readonly mayStart: () => boolean;
  /** Origins that may be called although they are not public https. */
  readonly allow: readonly string[];
  readonly signal?: AbortSignal | undefined;
  /** Longest time for the whole call; the limits' own where it is not given. */
  readonly callMs?: number | undefined;
  /** Names of answer headers to keep besides content-type and retry-after. */
  readonly keepHeaders?: readonly string[] | undefined;
  /**
   * Whether a connection that served before may serve again; default true. A provider may close an idle
   * connection just as a request goes out on it, which cannot be told from a lost answer: a call that
   * nothing protects from being repeated takes a fresh connection.
   */
  readonly reuse?: boolean | undefined;
  readonly probe?: Probe | undefined;
}

/** Settings of a {@link Caller}. */
export interface CallerOptions {
  readonly clock: Pick<Clock, "timer">;
  readonly limits: Pick<Limits, "connectMs" | "callMs" | "answerBytes" | "headerBytes" | "callsPerDestination">;
  /** How long an unused connection is kept; shorter than providers keep theirs, or calls meet closed ones. */
  readonly idleMs: number;
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolve | undefined;
  /** Certificate authorities (PEM) in place of the public ones, for providers inside one's own network. */
  readonly ca?: string | undefined;
}

/**
 * Calls providers, one HTTP exchange a call, and keeps connections open between calls.
 *
 * @example
 * ```ts no-run
 * const caller = new Caller({ clock, limits: defaults, idleMs: 4_000 });
 * const result = await caller.call(request, { mayStart: () => keyIsAlive(), allow: [] });
 * caller.close();
 * ```
 */
export class Caller {
  readonly #options: CallerOptions;
  readonly #resolve: Resolve;
  readonly #agents: Map<string, Agent> = new Map();
  readonly #closing = new AbortController();

  constructor(options: CallerOptions) {
    this.#options = options;
    const { clock, limits, resolve = systemResolve } = options;
    this.#resolve = patientResolve(resolve, { clock, connectMs: limits.connectMs });
  }

  /**
   * Makes one call. Everything that can go wrong on the way is a result; it rejects only with what
   * `mayStart`, the probe or the clock threw.
   */
  async call(request: CallRequest, options: CallOptions): Promise<CallResult> {
    const destination = checkDestination(request.url, { allow: options.allow });
    if (destination.kind === "refused") return notSent("blocked", destination.reason);
    const { callMs, connectMs, answerBytes, headerBytes } = this.#options.limits;
    const merged = mergeHeaders(request.headers, { system: systemHeaders(request), bytesMax: headerBytes });
    if (!merged.fits) return notSent("unsendable", merged.problem);
    const { url, kind } = destination;
    const stops = [
      { signal: this.#closing.signal, cause: "closed" as const },
      ...(options.signal ? [{ signal: options.signal, cause: "aborted" as const }] : []),
    ];
    const stopped = stops.find(({ signal }) => signal.aborted);
    if (stopped) return notSent(stopped.cause, "stopped by the caller");
    return httpCall(
      { method: request.method, url, headers: merged.headers, body: request.body },
      {
        agent: this.#agent(url.protocol, kind, options.reuse ?? true),
        lookup: guardedLookup(kind, this.#resolve),
        clock: this.#options.clock,
        connectMs,
        callMs: options.callMs ?? callMs,
        answerBytes,
        headerBytes,
        keepHeaders: ["content-type", "retry-after", ...(options.keepHeaders ?? [])].map((name) => name.toLowerCase()),
        mayStart: options.mayStart,
        stops,
        probe: options.probe,
      },
    );
  }

  /** Closes every connection. Calls in flight end as they stand; later ones are not sent. */
  close(): void {
    this.#closing.abort();
    for (const agent of this.#agents.values()) agent.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * The pool for a kind of call; it pools by host and port inside. Connections to allowed origins stand
   * apart: on one of them, a call that is only allowed public addresses would pass the guard unseen.
   */
  #agent(protocol: string, kind: string, reuse: boolean): Agent {
    const name = `${protocol} ${kind} ${reuse}`;
    const known = this.#agents.get(name);
    if (known) return known;
    const { idleMs, ca, limits } = this.#options;
    const options = { keepAlive: reuse, timeout: idleMs, maxFreeSockets: limits.callsPerDestination };
    const agent = protocol === "https:" ? new https.Agent({ ...options, ...(ca && { ca }) }) : new http.Agent(options);
    this.#agents.set(name, agent);
    return agent;
  }
}

function systemHeaders({ method, body, systemHeaders: given }: CallRequest): HeaderFields {
  const length = body !== null || method !== "GET" ? { "content-length": String(body?.length ?? 0) } : {};
  return { ...given, ...length, "accept-encoding": "identity" };
}

function notSent(cause: "blocked" | "unsendable" | "closed" | "aborted", detail: string): CallResult {
  return { kind: "not_sent", reached: "no", phase: "resolve", cause, detail };
}
