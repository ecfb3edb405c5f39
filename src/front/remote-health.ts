import type { Clock } from "../domain/clock.ts";
import type { Limits } from "../domain/limits.ts";
import type { HealthChecks } from "../http/serve.ts";
import type { ToEngine } from "./messages.ts";

export interface RemoteHealthOptions {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly post: (message: ToEngine) => void;
}

/**
 * Health as the HTTP thread tells it: what the engine's thread says, and unhealthy when it says nothing
 * for as long as a delivery would wait. Whoever asks meanwhile shares the question.
 */
export class RemoteHealth implements HealthChecks {
  readonly #options: RemoteHealthOptions;
  readonly #asked = new Map<keyof HealthChecks, PromiseWithResolvers<boolean>>();

  constructor(options: RemoteHealthOptions) {
    this.#options = options;
  }

  live(): Promise<boolean> {
    return this.#ask("live", this.#options.limits.queueMs);
  }

  /** The engine itself waits for the lock before it says no. */
  ready(): Promise<boolean> {
    const { queueMs, lockMs } = this.#options.limits;
    return this.#ask("ready", queueMs + lockMs);
  }

  settle(health: keyof HealthChecks, healthy: boolean): void {
    this.#asked.get(health)?.resolve(healthy);
  }

  async #ask(health: keyof HealthChecks, waitMs: number): Promise<boolean> {
    const asked = this.#asked.get(health);
    if (asked !== undefined) return asked.promise;
    const asking = Promise.withResolvers<boolean>();
    this.#asked.set(health, asking);
    const { clock, post } = this.#options;
    const cancel = clock.timer(waitMs, () => asking.resolve(false));
    post({ kind: "ask", health });
    const healthy = await asking.promise;
    cancel();
    this.#asked.delete(health);
    return healthy;
  }
}
