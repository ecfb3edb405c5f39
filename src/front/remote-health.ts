import type { Clock } from "../domain/clock.ts";
import type { Limits } from "../domain/limits.ts";
import type { HealthChecks } from "../http/serve.ts";
import type { ToEngine } from "./messages.ts";

export interface RemoteHealthOptions {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly post: (message: ToEngine) => void;
}

/** Health as the HTTP thread tells it: what the engine's thread says, and unhealthy when it says nothing. */
export class RemoteHealth implements HealthChecks {
  readonly #options: RemoteHealthOptions;
  readonly #asked = new Map<number, (healthy: boolean) => void>();
  #last = 0;

  constructor(options: RemoteHealthOptions) {
    this.#options = options;
  }

  live(): Promise<boolean> {
    return this.#ask("live");
  }

  ready(): Promise<boolean> {
    return this.#ask("ready");
  }

  settle(id: number, healthy: boolean): void {
    this.#asked.get(id)?.(healthy);
    this.#asked.delete(id);
  }

  /** An engine that lets a question wait for as long as a delivery may wait takes no deliveries either. */
  #ask(health: "live" | "ready"): Promise<boolean> {
    const { limits, clock, post } = this.#options;
    const id = (this.#last += 1);
    return new Promise((resolve) => {
      const cancel = clock.timer(limits.queueMs, () => this.settle(id, false));
      this.#asked.set(id, (healthy) => {
        cancel();
        resolve(healthy);
      });
      post({ kind: "ask", id, health });
    });
  }
}
