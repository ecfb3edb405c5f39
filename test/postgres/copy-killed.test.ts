/**
 * A process that copies a store is killed by SIGKILL at every commit of either side, before and after.
 * After each death the store is in use at one place at most, and the same copy, run again, ends well.
 *
 * The gate kills at a few points, spread evenly from a random start; COUNTERFOIL_KILLS=all kills at each.
 */
import { sqlite } from "counterfoil/sqlite";
import { expect, test } from "vitest";
import { hasCode } from "../../src/domain/errors.ts";
import { systemClock } from "../../src/domain/system-clock.ts";
import { claimedId } from "../../src/store/conformance/drafts.conformance.ts";
import { storeAt } from "../../src/store/postgres/bundle.conformance.ts";
import type { Store } from "../../src/store/store.ts";
import { startProcess } from "../../src/testing/processes.ts";
import { postgresServer } from "../support/postgres.ts";
import { sqliteDatabase } from "../support/sqlite-database.ts";
import type { TemporaryDatabase } from "../support/temporary-database.ts";
import { fillStore, viewOf } from "./rich-store.ts";
import { runCopy } from "./run-copy.ts";

const killsMax =
  process.env["COUNTERFOIL_KILLS"] === "all"
    ? Number.POSITIVE_INFINITY
    : Number(process.env["COUNTERFOIL_KILLS"] ?? 12);

test(
  "killed at any commit, a copy has left one store in use, and ends when it is run again",
  { timeout: 900_000 },
  async () => {
    await using template = await filledFile();
    const points = await live(template, 0);
    expect(points).toEqual(
      expect.arrayContaining(["copy.source.move:before", "copy.target.open:after", "copy.source.forget:after"]),
    );
    const step = Math.max(1, Math.floor(points.length / killsMax));
    const first = 1 + Math.floor(Math.random() * step);
    const spread = Array.from(
      { length: Math.ceil((points.length - first + 1) / step) },
      (_, index) => first + index * step,
    );
    // Where the one is closed and the other not open yet.
    const between = ["copy.source.move:after", "copy.target.open:before"].map((point) => 1 + points.indexOf(point));
    for (const n of new Set([...spread, ...between])) await live(template, n);
  },
);

async function filledFile(): Promise<TemporaryDatabase> {
  const database = await sqliteDatabase({ inMemory: true });
  const file = sqlite(database.address);
  await file.migrate();
  await file.open();
  await fillStore(file);
  await file.close();
  return database;
}

/** One copy that dies at a point, 0 at none, and the one after it; gives the points of one that lives. */
async function live(template: TemporaryDatabase, killAt: number): Promise<readonly string[]> {
  await using stack = new AsyncDisposableStack();
  const { address: path } = stack.use(await template.copy());
  const { url } = stack.use(await (await postgresServer()).createDatabase());
  const points = await firstCopy({ path, url, killAt });

  const file = sqlite(path);
  const server = storeAt(url, { clock: undefined });
  stack.defer(() => file.close());
  stack.defer(() => server.close());
  const inUse = { file: await isOpen(file), server: await isOpen(server) };
  expect(inUse.file && inUse.server, `both in use after ${killAt}`).toBe(false);
  if (inUse.file) await claimedId(file, { eventId: "acknowledged after the death" });
  const before = inUse.file ? await viewOf(file) : undefined;
  expect(await runCopy({ path, url, clock: systemClock() }, { final: true })).toMatchObject({ moved: true });
  await server.open();
  const after = await viewOf(server);
  if (before) expect(after, `after ${killAt}`).toEqual(before);
  else expect(after).toMatchObject({ deliveries: 350 });
  await expect(file.open()).rejects.toMatchObject({ code: "STORE_MOVED" });
  return points;
}

async function firstCopy({
  path,
  url,
  killAt,
}: {
  readonly path: string;
  readonly url: string;
  readonly killAt: number;
}): Promise<readonly string[]> {
  await using child = startProcess(new URL("children/copy.ts", import.meta.url), {
    arguments: [path, url],
    environment: killAt > 0 ? { COUNTERFOIL_KILL_AT: String(killAt) } : {},
  });
  const copied = await child.ask("copy").then(
    () => undefined,
    (error: unknown) => error,
  );
  if (killAt === 0) {
    expect(copied).toBeUndefined();
    const points = (await child.ask("points")) as string[];
    await child.finish();
    return points;
  }
  expect((await child.ended).signal, child.output).toBe("SIGKILL");
  return [];
}

/** Whether anybody could use the store now. */
async function isOpen(store: Store): Promise<boolean> {
  try {
    await store.open();
    return true;
  } catch (error) {
    if (hasCode(error, "STORE_MOVED", "STORE_INCOMPLETE", "SCHEMA_OUTDATED")) return false;
    throw error;
  }
}
