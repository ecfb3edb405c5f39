import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import type { Bundle } from "../conformance/bundle.conformance.ts";
import { SqliteStore, type StoreOptions } from "./store.ts";

/** A folder of its own for one test's files. */
export async function temporaryFolder(): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "counterfoil-sqlite-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** A store with every option set; a test names what it is about. */
export function storeAt(path: string, overrides: Partial<StoreOptions> = {}): SqliteStore {
  return new SqliteStore({
    path,
    clock: new VirtualClock(),
    allowNetworkFileSystem: false,
    pageBytes: 2048,
    logBytes: 4 * 1024 * 1024,
    ...overrides,
  });
}

/** Two open handles on one new file. */
export async function sqliteBundle(overrides: Partial<StoreOptions> = {}): Promise<Bundle & { readonly path: string }> {
  const folder = await temporaryFolder();
  const path = join(folder.path, "store.db");
  const clock = new VirtualClock();
  const stores: SqliteStore[] = [];
  const handle = (at: string): SqliteStore => {
    const store = storeAt(at, { clock, ...overrides });
    stores.push(store);
    return store;
  };
  const [store, other] = [handle(path), handle(path)];
  await store.migrate();
  await store.open();
  await other.open();
  return {
    path,
    store,
    other,
    clock: {
      advance: (ms) => clock.advance(ms),
      stepWall: (ms) => clock.stepWall(ms),
      reboot: (bootId) => clock.reboot(bootId),
    },
    unmigrated: async () => {
      const empty = join(folder.path, "unmigrated.db");
      return [handle(empty), handle(empty)];
    },
    dispose: async () => {
      for (const opened of stores) await opened.close();
      await folder.remove();
    },
  };
}
