import type { Clock } from "../domain/clock.ts";
import type { EffectDefinition } from "../domain/effect.ts";
import type { Limits } from "../domain/limits.ts";
import type { Probe } from "../domain/probe.ts";
import type { Random } from "../domain/random.ts";
import type { AnyResource } from "../domain/resource.ts";
import type { Emit } from "../domain/telemetry.ts";
import type { Store } from "../store/store.ts";
import type { Wake } from "./wake.ts";

/** What every part of one running application shares; made once by `app/`, handed down. */
export interface Runtime {
  readonly store: Store;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  readonly wake: Wake;
  /** Registered effects by name and version. */
  readonly effects: ReadonlyMap<string, EffectDefinition>;
  /** Registered resources that can be asked for at their source, by kind. */
  readonly resources: ReadonlyMap<string, AnyResource>;
  /** Called around every socket write and read, for crash tests. */
  readonly probe?: Probe;
}
