/** Incidents: processes that are killed or hang, connections that the server ends, and a server that is gone for a moment. */
import type { Chance } from "./facts.ts";
import type { Member } from "./fleet.ts";

export interface ChaosOptions {
  readonly members: readonly Member[];
  readonly chance: Chance;
  /** Incidents of the database by name, the likelier the more often they are named; none where it is a file. */
  readonly ofDatabase: readonly (readonly [name: string, strike: () => Promise<unknown>])[];
}

export class Chaos {
  readonly #options: ChaosOptions;
  readonly #counts: Record<string, number> = {};
  #frozen: Member | undefined;

  constructor(options: ChaosOptions) {
    this.#options = options;
  }

  /** What happened, by name. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  /** One more incident; what hung goes on. */
  async strike(): Promise<void> {
    const { chance, ofDatabase } = this.#options;
    this.calm();
    const ofProcesses = [
      ["receiver killed", async () => this.#pick("receiver")?.kill()],
      ["receiver killed", async () => this.#pick("receiver")?.kill()],
      ["worker killed", async () => this.#pick("worker")?.kill()],
      ["worker killed", async () => this.#pick("worker")?.kill()],
      ["worker frozen", async () => this.#freeze()],
    ] as const;
    const [name, strike] = chance.pick([...ofProcesses, ...ofDatabase]);
    this.#counts[name] = (this.#counts[name] ?? 0) + 1;
    await strike();
  }

  /** Lets what hangs go on. */
  calm(): void {
    this.#frozen?.freeze(false);
    this.#frozen = undefined;
  }

  #freeze(): void {
    this.#frozen = this.#pick("worker");
    this.#frozen?.freeze(true);
  }

  #pick(role: Member["role"]): Member | undefined {
    const { members, chance } = this.#options;
    const those = members.filter((member) => member.role === role);
    return those.length > 0 ? chance.pick(those) : undefined;
  }
}
