import { CounterfoilError } from "../domain/errors.ts";
import type { ConnectionSource } from "../inbox/connections.ts";
import { type Checking, type ConnectOptions, prepareConnection } from "./connect.ts";

/** The parts of a path that its route names. */
export type RouteParams = Readonly<Record<string, string>>;

/** Finds the options of a connection, as `connect` takes them; `null` where there is none of these parameters. */
export type FindConnection<Name extends string> = (
  params: RouteParams,
  options: { readonly signal: AbortSignal },
) => Promise<ConnectOptions<Name> | null> | ConnectOptions<Name> | null;

/** Connections that a function finds. */
export interface ConnectionSourceConfig {
  readonly route: string;
  readonly find: FindConnection<string>;
}

/**
 * Configures sources of webhooks that no list holds, such as one for each customer: the function finds a
 * connection by the parameters of its route, which is also its id.
 *
 * It is asked again after `connectionMs`, so that what it says (secrets above all) counts everywhere by
 * then. The tenant of an id may not change. Where it throws, deliveries are answered 503.
 *
 * @example
 * ```ts no-run
 * connectEach("shops/:shop", async ({ shop }) => {
 *   const row = await shops.find(shop);
 *   return row && { provider: acme, secrets: [row.secret], tenant: row.tenant, handlers: [changed] };
 * });
 * ```
 */
export function connectEach<Name extends string>(route: string, find: FindConnection<Name>): ConnectionSourceConfig {
  return { route, find };
}

const segmentPattern = /^[A-Za-z0-9][\w.-]{0,63}$/;
const parameterPattern = /^:[A-Za-z]\w*$/;

/** Checks a source and makes it ready; throws CONFIG_INVALID. */
export function prepareSource({ route, find }: ConnectionSourceConfig, checking: Checking): ConnectionSource {
  const steps = route.split("/");
  const names = steps.filter((step) => parameterPattern.test(step));
  const fits = steps.every((step) => parameterPattern.test(step) || segmentPattern.test(step));
  if (!fits || names.length === 0 || new Set(names).size < names.length) {
    throw new CounterfoilError(
      "CONFIG_INVALID",
      `Cannot use connections of "${route}": a route is made of names and parameters such as "shops/:shop", each parameter once`,
    );
  }
  return {
    route,
    matches: (id) => paramsOf(steps, id) !== undefined,
    find: async (id, signal) => {
      const options = await find(paramsOf(steps, id) ?? {}, { signal });
      if (options === null || options === undefined) return null;
      const { connection, problem } = prepareConnection({ id, options }, { ...checking, isFound: true });
      if (problem !== null) throw new CounterfoilError("CONNECTION_UNAVAILABLE", problem);
      return connection;
    },
  };
}

function paramsOf(steps: readonly string[], id: string): RouteParams | undefined {
  const segments = id.split("/");
  if (segments.length !== steps.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, step] of steps.entries()) {
    const segment = segments[index] ?? "";
    if (!segmentPattern.test(segment)) return undefined;
    if (step.startsWith(":")) params[step.slice(1)] = segment;
    else if (step !== segment) return undefined;
  }
  return params;
}
