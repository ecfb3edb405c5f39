import type { CallResult } from "../../src/outbox/call-result.ts";
import type { Caller, CallOptions, CallRequest } from "../../src/outbox/caller.ts";

/**
 * One call of a worker, whose two ends are in the test's hand: when its request goes out, and when the
 * worker hears of the answer. In between it is a real HTTP exchange.
 *
 *   claimed -> flying -> landed -> heard
 */
export class Flight {
  /** The operation that it is about. */
  readonly ref: string;
  state: "claimed" | "flying" | "landed" | "heard" = "claimed";
  readonly #sends: boolean;
  readonly #exchange: () => Promise<CallResult>;
  readonly #heard = Promise.withResolvers<CallResult>();
  #result: CallResult | undefined;

  constructor(caller: Caller, request: CallRequest, options: CallOptions) {
    this.ref = refOf(request);
    this.#sends = request.method !== "GET";
    this.#exchange = () => caller.call(request, options);
    // A call that is taken back before it went out ends at once, as one that was about to connect.
    options.signal?.addEventListener("abort", () => this.launch());
  }

  /** A call that the provider answered with success. */
  get succeeded(): boolean {
    const result = this.#result;
    return this.#sends && result?.kind === "answered" && result.status >= 200 && result.status <= 299;
  }

  get heard(): Promise<CallResult> {
    return this.#heard.promise;
  }

  launch(): void {
    if (this.state !== "claimed") return;
    this.state = "flying";
    void this.#exchange().then((result) => {
      this.#result = result;
      this.state = "landed";
    }, this.#heard.reject);
  }

  /** Lets the worker hear how it ended. */
  deliver(): void {
    if (this.#result === undefined) throw new Error("Cannot deliver: the call has not ended");
    this.state = "heard";
    this.#heard.resolve(this.#result);
  }
}

function refOf({ method, url, body }: CallRequest): string {
  if (method === "GET") return new URL(url).searchParams.get("ref") ?? "";
  return (JSON.parse(new TextDecoder().decode(body ?? undefined)) as { readonly ref: string }).ref;
}
