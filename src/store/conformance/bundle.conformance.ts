/**
 * What an engine's test file hands to the suite: two live handles on one real database, and a clock
 * that both read. A part that an engine cannot offer is left out, and its tests with it.
 */
import { afterEach, beforeEach } from "vitest";
import type { Store, StoreTx } from "../store.ts";

/**
 * The time that the store's stamps tell. It stands still until it is moved; an engine whose server has
 * the only clock reads it through a hook that its bundle sets.
 */
export interface TestClock {
  /** Lets time pass on every clock. */
  readonly advance: (ms: number) => void;
  /** Moves the wall clock alone; left out where a server gives the only clock. */
  readonly stepWall?: (ms: number) => void;
  /** Another boot of the machine; left out where leases do not depend on one. */
  readonly reboot?: (bootId: string) => void;
}

export interface Bundle {
  /** Two open handles on one migrated database, each with its own connections. */
  readonly store: Store;
  readonly other: Store;
  readonly clock: TestClock;
  /** Handles on one database that was never migrated. */
  readonly unmigrated: () => Promise<readonly [Store, Store]>;
  readonly dispose: () => Promise<void>;
}

export type MakeBundle = () => Promise<Bundle>;

/** Gives each test a bundle of its own. */
export function eachBundle(make: MakeBundle): () => Bundle {
  let bundle: Bundle | undefined;
  beforeEach(async () => {
    bundle = await make();
  });
  afterEach(async () => {
    await bundle?.dispose();
    bundle = undefined;
  });
  return () => {
    if (!bundle) throw new Error("Cannot use the bundle: no test is running");
    return bundle;
  };
}

/** One transaction with patience for a slow machine. */
export function commit<T>(store: Store, body: (tx: StoreTx) => Promise<T>): Promise<T> {
  return store.transaction(body, { waitMs: 30_000 });
}

/** Runs a body in a transaction that is then rolled back; gives what the body gave. */
export async function rollBack<T>(store: Store, body: (tx: StoreTx) => Promise<T>): Promise<T> {
  const undo = new Error("rolled back by the test");
  let value: { readonly of: T } | undefined;
  try {
    await commit(store, async (tx) => {
      value = { of: await body(tx) };
      throw undo;
    });
  } catch (error) {
    if (error !== undo) throw error;
  }
  if (!value) throw new Error("Cannot give the body's value: it did not finish");
  return value.of;
}
