import type { StoreTx } from "../store/store.ts";
import type { Acting } from "./acting.ts";

/** What can be paused: a destination, so that nothing is sent there; or a connection, so that none of its events is applied. */
export type Pausable =
  /** Origin, such as `https://carrier.example`, or the name that a `sendEffect` gives. */
  | { readonly destination: string; readonly connection?: never }
  /** Id of a connection. Its events are verified, kept and answered 202 as ever. */
  | { readonly connection: string; readonly destination?: never };

/** One thing that can be paused, as pausing and resuming see it. */
export interface Valve {
  /** As the audit names it. */
  readonly target: string;
  readonly texts: {
    readonly open: string;
    readonly paused: string;
    readonly resumed: string;
    readonly blank: string;
  };
  /** Why it is no such thing; `undefined` where it is one. */
  readonly problem: string | undefined;
  /** Why it is paused now; `undefined` where it is not. */
  readonly reason: () => Promise<string | undefined>;
  readonly write: (tx: StoreTx, reason: string | null) => Promise<void>;
}

export function valveOf(acting: Acting, { destination, connection }: Pausable): Valve {
  return connection === undefined ? ofDestination(acting, destination) : ofConnection(acting, connection);
}

function ofDestination({ runtime: { effects, store } }: Acting, destination: string): Valve {
  const named = [...effects.values()].some((effect) => effect.destination === destination);
  const isOne = named || URL.parse(destination)?.origin === destination;
  return {
    target: `destination/${destination}`,
    texts: {
      open: "called again",
      paused: "It is paused: what is owed there waits until it is resumed",
      resumed: "It is called again: what is due there goes out now",
      blank: "say why nothing is to be sent",
    },
    problem: isOne
      ? undefined
      : `Cannot pause "${destination}": it is no origin; write such as https://carrier.example, or --connection for a connection`,
    reason: async () => {
      const paused = await store.reader.pausedDestinations();
      return paused.find((one) => one.destination === destination)?.reason;
    },
    write: (tx, reason) => tx.pauseDestination(destination, reason),
  };
}

function ofConnection({ runtime: { store }, connections }: Acting, connection: string): Valve {
  return {
    target: `connection/${connection}`,
    texts: {
      open: "applied again",
      paused: "It is paused: its events are kept and answered, and applied once it is resumed",
      resumed: "Its events are applied again: a worker takes those that wait now",
      blank: "say why nothing is to be applied",
    },
    problem: connections.mayHave(connection)
      ? undefined
      : `Cannot pause connection "${connection}": it is not configured; known are ${[...connections.listed.keys()].join(", ") || "none"}`,
    reason: async () => {
      const paused = await store.reader.pausedConnections();
      return paused.find((one) => one.connection === connection)?.reason;
    },
    write: (tx, reason) => tx.pauseConnection(connection, reason),
  };
}
