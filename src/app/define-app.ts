import type { Clock } from "../domain/clock.ts";
import type { Effect, EffectDefinition } from "../domain/effect.ts";
import { CounterfoilError } from "../domain/errors.ts";
import { type Limits, withLimits } from "../domain/limits.ts";
import type { Probe } from "../domain/probe.ts";
import { type Random, systemRandom } from "../domain/random.ts";
import type { AnyResource } from "../domain/resource.ts";
import { systemClock } from "../domain/system-clock.ts";
import type { Emit } from "../domain/telemetry.ts";
import { Connections } from "../inbox/connections.ts";
import { checkEffect } from "../outbox/check-effect.ts";
import { resourceProblem } from "../outbox/resource-policy.ts";
import type { Store } from "../store/store.ts";
import { fanOut } from "../telemetry/fan-out.ts";
import type { Runtime } from "../work/runtime.ts";
import { Wake } from "../work/wake.ts";
import { type App, buildApp } from "./app.ts";
import { type ConnectionSourceConfig, prepareSource } from "./connect-each.ts";
import { type Checking, type ConnectionConfig, prepareConnection, type Prepared } from "./connect.ts";
import { listenerOf, type OnAttention } from "./on-attention.ts";

/** What an application is made of: the database, the connections, the effects. */
export interface AppOptions {
  /** The database that holds your data: `sqlite("shop.db")`. */
  readonly store: Store;
  readonly connections: readonly (ConnectionConfig | ConnectionSourceConfig)[];
  readonly effects: readonly Effect<never>[];
  /** Resources that can be asked for at their source: those that declare a `fetch`. */
  readonly resources?: readonly AnyResource[];
  /**
   * Path under which hooks are mounted; a connection's id is the segment after it.
   *
   * @default "/hooks"
   */
  readonly basePath?: string;
  /** Overrides of the documented defaults. */
  readonly limits?: Partial<Limits>;
  /** Hears everything Counterfoil says of itself; see `jsonLogger` and `Metrics`. */
  readonly telemetry?: Emit | readonly Emit[];
  /**
   * Hears of what needs a person, of each new thing once: a function, or a URL that is posted to, signed by
   * Standard Webhooks. Workers tell it; see docs/operating.md.
   */
  readonly onAttention?: OnAttention;
  /**
   * Whether opening the store brings its schema up to date. An embedded database is migrated when it is
   * opened; a shared one only by `counterfoil migrate`.
   */
  readonly migrate?: boolean;
  /**
   * For tests: other clocks, other chance, and a probe around every durable step. A store that reads
   * clocks of its own, such as `sqlite(path, { clock })`, gives them to the application.
   */
  readonly testing?: { readonly clock?: Clock; readonly random?: Random; readonly probe?: Probe };
}

const known: readonly (keyof AppOptions)[] = [
  "store",
  "connections",
  "effects",
  "resources",
  "basePath",
  "limits",
  "telemetry",
  "onAttention",
  "migrate",
  "testing",
];

/**
 * Checks a configuration and makes an application of it. Nothing is opened yet.
 *
 * @throws CounterfoilError CONFIG_INVALID saying what cannot work and what to do.
 * @example
 * ```ts no-run
 * const app: App = defineApp({ store: sqlite("shop.db"), connections: [orders], effects: [ship] });
 * export default app;
 * ```
 */
export function defineApp(options: AppOptions): App {
  assertKnown(options);
  const limits = limitsOf(options);
  const checking = { limits, capabilities: options.store.capabilities };
  const listed = options.connections.filter((config) => "id" in config);
  const prepared = listed.map((config) => prepareListed(config, checking));
  const clock = clockOf(options);
  const sources = options.connections.flatMap((config) => ("id" in config ? [] : [prepareSource(config, checking)]));
  const effects = effectsByName(options.effects, limits);
  const subscribers = new Set<Emit>([options.telemetry ?? []].flat());
  const { random = systemRandom, probe } = options.testing ?? {};
  const runtime: Runtime = {
    store: options.store,
    limits,
    clock,
    random,
    emit: fanOut(subscribers),
    wake: new Wake(),
    effects,
    resources: resourcesByKind(options.resources ?? [], limits),
    ...(probe && { probe }),
  };
  const attention = listenerOf(options.onAttention, runtime.clock);
  return buildApp({
    runtime,
    subscribers,
    connections: new Connections({ listed: connectionsById(prepared), sources, limits, clock }),
    problems: [...prepared.flatMap(({ problem }) => problem ?? []), ...attention.problems],
    onAttention: attention.tell,
    basePath: basePathOf(options.basePath ?? "/hooks"),
    migrate: options.migrate ?? !options.store.capabilities.concurrentWriters,
  });
}

function assertKnown(options: AppOptions): void {
  const unknown = Object.keys(options).find((name) => !(known as readonly string[]).includes(name));
  if (unknown !== undefined) invalid(`there is no option "${unknown}"; known are ${known.join(", ")}`);
}

/** Leases, due times and key lives are compared across the two: they must be read from the same clocks. */
function clockOf({ store, testing }: AppOptions): Clock {
  const { clock = store.clock ?? systemClock() } = testing ?? {};
  if (store.clock !== undefined && store.clock !== clock) {
    invalid("testing.clock is not the clock that the store reads; give it to the store alone: sqlite(path, { clock })");
  }
  return clock;
}

function limitsOf(options: AppOptions): Limits {
  try {
    return withLimits(options.limits);
  } catch (cause) {
    throw new CounterfoilError("CONFIG_INVALID", cause instanceof Error ? cause.message : "Cannot use these limits", {
      cause,
    });
  }
}

/** A listed connection's id is one segment; routes have room for more. */
function prepareListed(config: ConnectionConfig, checking: Checking): Prepared {
  if (config.id.includes("/")) invalid(`connection "${config.id}" has more than one segment; connectEach has routes`);
  return prepareConnection(config, checking);
}

function connectionsById(prepared: readonly Prepared[]): ReadonlyMap<string, Prepared["connection"]> {
  const byId = new Map<string, Prepared["connection"]>();
  for (const { connection } of prepared) {
    if (byId.has(connection.id)) invalid(`two connections have the id "${connection.id}"`);
    byId.set(connection.id, connection);
  }
  return byId;
}

function effectsByName(effects: readonly Effect<never>[], limits: Limits): ReadonlyMap<string, EffectDefinition> {
  const byName = new Map<string, EffectDefinition>();
  for (const { name, definition } of effects) {
    if (byName.has(name)) invalid(`two effects have the name "${name}"; a changed one needs a new version`);
    const problem = checkEffect(definition, limits);
    if (problem !== undefined) invalid(`effect "${name}": ${problem}`);
    byName.set(name, definition);
  }
  for (const { name, definition } of effects) {
    for (const alias of definition.aliases ?? []) {
      if (byName.has(alias)) invalid(`effect "${name}": its alias "${alias}" is the name of another effect`);
      byName.set(alias, definition);
    }
  }
  return byName;
}

function resourcesByKind(resources: readonly AnyResource[], limits: Limits): ReadonlyMap<string, AnyResource> {
  const byKind = new Map<string, AnyResource>();
  for (const resource of resources) {
    const { kind } = resource;
    if (byKind.has(kind)) invalid(`two resources are of the kind "${kind}"`);
    const problem = resourceProblem(resource, limits);
    if (problem !== undefined) invalid(`resource "${kind}": ${problem}`);
    byKind.set(kind, resource);
  }
  return byKind;
}

function basePathOf(basePath: string): string {
  if (!/^(\/[\w.~-]+)+$/.test(basePath)) invalid(`basePath "${basePath}" must be a path such as "/hooks"`);
  return basePath;
}

function invalid(problem: string): never {
  throw new CounterfoilError("CONFIG_INVALID", `Cannot use this configuration: ${problem}`);
}
