/** Incidents: processes that are killed or hang, and connections that the server ends. */
import type { Chance } from "./facts.ts";
import type { Member } from "./fleet.ts";

export interface ChaosOptions {
  readonly members: readonly Member[];
  readonly chance: Chance;
  /** Ends some connections of the database; undefined where it has none. */
  readonly endConnections: (() => Promise<unknown>) | undefined;
}

/** What happened, by kind. */
export type IncidentCounts = Readonly<
  Record<"receiver killed" | "worker killed" | "worker frozen" | "connections ended", number>
>;

export class Chaos {
  readonly #options: ChaosOptions;
  readonly #counts = { "receiver killed": 0, "worker killed": 0, "worker frozen": 0, "connections ended": 0 };
  #frozen: Member | undefined;

  constructor(options: ChaosOptions) {
    this.#options = options;
  }

  get counts(): IncidentCounts {
    return this.#counts;
  }

  /** One more incident; what hung goes on. */
  async strike(): Promise<void> {
    const { chance, endConnections } = this.#options;
    this.calm();
    const kind = chance.below(endConnections === undefined ? 7 : 10);
    if (kind < 3) this.#kill("receiver");
    else if (kind < 6) this.#kill("worker");
    else if (kind < 7) this.#freeze();
    else {
      this.#counts["connections ended"] += 1;
      await endConnections?.();
    }
  }

  /** Lets what hangs go on. */
  calm(): void {
    this.#frozen?.freeze(false);
    this.#frozen = undefined;
  }

  #kill(role: Member["role"]): void {
    this.#pick(role)?.kill();
    this.#counts[`${role} killed`] += 1;
  }

  #freeze(): void {
    this.#frozen = this.#pick("worker");
    this.#frozen?.freeze(true);
    this.#counts["worker frozen"] += 1;
  }

  #pick(role: Member["role"]): Member | undefined {
    const { members, chance } = this.#options;
    const those = members.filter((member) => member.role === role);
    return those.length > 0 ? chance.pick(those) : undefined;
  }
}
