/**
 * Moves a store from a file to a server while it is used.
 *
 *   begin    the file notes changes from now on; the target is closed to everybody else
 *   walk     every unit is copied, in batches; a batch and how far the walk is are one commit of the target
 *   follow   what changed meanwhile is copied once more, until little is left
 *   compare  every unit is read on both sides; one that differs must be noted as changed
 *   finish   under the file's write lock: the rest is copied and compared, and all rows are counted;
 *            the file is closed for good; the target is told the time and opened
 *
 * The store is in use at one place at most, whatever ends this process and when. Until the file is closed
 * it goes on as if nothing had been, and the target lets nobody in; from then on both are closed, until the
 * target is opened. Run again, a copy goes on where the last one got to: units are written over as a
 * whole, and a change is forgotten only once its unit is committed there.
 */
import { CounterfoilError } from "../domain/errors.ts";
import {
  copyDiffers,
  countDiffers,
  type CopiedBatch,
  differingKeys,
  type RowCounts,
  tableNames,
  type UnitKey,
  unitKinds,
} from "../store/copying.ts";
import type { Mark } from "../store/marks.ts";
import type { CopyTarget, Progress, Standing } from "../store/postgres/copy-target.ts";
import type { BatchBounds, CopySource } from "../store/sqlite/copy-source.ts";
import { compareAll } from "./compare-all.ts";

export interface CopyOptions {
  readonly source: CopySource;
  readonly target: CopyTarget;
  /** How people call the two. */
  readonly from: string;
  readonly to: string;
  /** Close the file and open the target. */
  readonly final: boolean;
  readonly who: string;
  readonly why?: string | undefined;
  /** What is read at once; a payload larger than that comes alone. */
  readonly bounds?: BatchBounds | undefined;
  /** Hears how many units a kind has had so far. */
  readonly onProgress?: ((step: "copied" | "compared", kind: string, units: number) => void) | undefined;
}

export interface CopyReport {
  /** The file is closed and the target open. */
  readonly moved: boolean;
  /** Rows of the copy, by table; those of what changed meanwhile included. */
  readonly rows: RowCounts;
  /** Things that changed since they were copied, in a copy that is not final. */
  readonly changed: number;
  /** How long nobody could write, in a final one. */
  readonly closedMs: number | null;
}

const defaultBounds: BatchBounds = { units: 500, bytes: 4 * 1024 * 1024 };

/** So few changes are little work under the lock. */
const changesLeft = 200;
/** A store that changes faster than it is copied is followed no longer than through so many times what it had changed. */
const followedMax = 3;

/** Copies what can be copied while the store is used, and ends the copy where it is to be final. */
export async function copyStore(options: CopyOptions): Promise<CopyReport> {
  const { source, target, from, to, final } = options;
  const mark = source.mark();
  const standing = await target.look();
  if (mark?.breaking) return endMoved(options, { mark, standing });
  assertSamePlace(mark, to);
  assertFree(target, { id: mark?.checksum, standing });
  const id = await source.begin(to);
  await walkAll(options, await target.begin(id, from));
  await followChanges(options);
  await target.analyze();
  const { bounds = defaultBounds } = options;
  await compareAll({ source, target, bounds, onBatch: (kind, units) => options.onProgress?.("compared", kind, units) });
  await followChanges(options);
  if (final) return finish(options);
  return { moved: false, rows: await target.counts(), changed: source.changeCount(), closedMs: null };
}

/** Changes that were copied to one place are not noted any more for another. */
function assertSamePlace(mark: Mark | undefined, to: string): void {
  if (!mark || mark.name === to) return;
  throw notAllowed(`the store is being copied to ${mark.name}; end that copy, or give it up with --abandon`);
}

/** Before anything is begun: the target must be empty, or hold this copy. */
function assertFree(
  target: CopyTarget,
  { id, standing }: { readonly id: string | undefined; readonly standing: Standing },
): void {
  const { mark, used } = standing;
  const advice = "give another one with --schema, or drop it if nobody needs it";
  if (mark && mark.checksum !== id) {
    throw notAllowed(`the schema "${target.schema}" holds another copy, of ${mark.name}; ${advice}`);
  }
  if (!mark && used !== undefined) {
    throw notAllowed(`the schema "${target.schema}" is in use: it has ${used}; ${advice}`);
  }
}

/** The file was closed already: what is left is to open the target, unless that was done as well. */
async function endMoved(
  options: CopyOptions,
  { mark, standing }: { readonly mark: Mark; readonly standing: Standing },
): Promise<CopyReport> {
  const { source, target, from, final } = options;
  if (standing.mark?.checksum !== mark.checksum) throw movedError(mark.name);
  if (standing.mark.breaking) {
    if (!final) throw notAllowed("the store is closed and its copy is not open yet; end it with --final");
    await target.begin(mark.checksum, from);
    compareCounts(source.counts(), await target.counts());
    await open(options);
  }
  return { moved: true, rows: await target.counts(), changed: 0, closedMs: null };
}

async function walkAll(
  { source, target, bounds = defaultBounds, onProgress }: CopyOptions,
  before: Progress,
): Promise<void> {
  let progress = before;
  for (const kind of unitKinds) {
    let units = 0;
    while (progress[kind]?.done !== true) {
      const batch = source.readAfter(kind, progress[kind]?.after ?? null, bounds);
      const after = batch.keys.at(-1) ?? progress[kind]?.after ?? null;
      progress = { ...progress, [kind]: { after, done: batch.isEnd } };
      await target.write(batch, progress);
      units += batch.keys.length;
      onProgress?.("copied", kind, units);
    }
  }
}

/** Copies what changed, round by round, until little is left. */
async function followChanges(options: CopyOptions): Promise<void> {
  const { source, target, bounds = defaultBounds } = options;
  let patience = followedMax * source.changeCount();
  while (patience > 0 && source.changeCount() > changesLeft) {
    const changes = source.changes(bounds.units);
    patience -= changes.count;
    for (const batch of batchesOf(options, changes.keys)) await target.write(batch);
    await source.forget(changes.upTo);
  }
}

// Units as they are now, in batches within the bounds.
function* batchesOf(
  { source, bounds = defaultBounds }: CopyOptions,
  changed: ReturnType<CopySource["changes"]>["keys"],
): Generator<CopiedBatch> {
  for (const [kind, keys] of changed) {
    for (let left: readonly UnitKey[] = keys; left.length > 0;) {
      const batch = source.read(kind, left, bounds);
      yield batch;
      left = left.slice(batch.keys.length);
    }
  }
}

async function finish(options: CopyOptions): Promise<CopyReport> {
  const { source, target, to } = options;
  await source.lock();
  const closedAtMs = source.stamp().monotonicMs;
  let rows: RowCounts;
  try {
    const changes = source.changes(Number.MAX_SAFE_INTEGER);
    for (const batch of batchesOf(options, changes.keys)) {
      await target.write(batch);
      await compareBatch(target, batch);
    }
    rows = source.counts();
    compareCounts(rows, await target.counts());
    source.move(to);
  } finally {
    source.unlock();
  }
  await open(options);
  return { moved: true, rows, changed: 0, closedMs: source.stamp().monotonicMs - closedAtMs };
}

async function compareBatch(target: CopyTarget, { kind, keys, rows }: CopiedBatch): Promise<void> {
  // Each side gives units in an order of its own.
  const [key] = differingKeys(kind, rows, await target.read(kind, keys));
  if (key !== undefined) throw copyDiffers(kind, key);
}

function compareCounts(here: RowCounts, there: RowCounts): void {
  for (const name of tableNames) {
    if (here[name] !== there[name]) throw countDiffers(name, here[name], there[name]);
  }
}

async function open({ source, target, from, who, why }: CopyOptions): Promise<void> {
  const before = source.stamp();
  await target.open({
    before,
    leaseMs: source.leaseMs(),
    after: () => source.stamp(),
    audit: {
      who,
      action: "copy",
      target: "store",
      why: why ?? null,
      before: from,
      after: JSON.stringify(source.counts()),
    },
  });
}

function movedError(to: string): CounterfoilError {
  return new CounterfoilError("STORE_MOVED", `Cannot copy: the store was moved to ${to} already`);
}

function notAllowed(problem: string): CounterfoilError {
  return new CounterfoilError("NOT_ALLOWED", `Cannot copy: ${problem}`);
}

/** How people call the place of a copy: the database as the server names it, never an address with its secrets. */
export async function placeOf(target: CopyTarget, host: string): Promise<string> {
  const { database } = await target.look();
  return `database "${database}" on ${host}, schema "${target.schema}"`;
}

/** What a copy would have to do. */
export interface CopyPlan {
  /** Rows that the copy would have, by table. */
  readonly rows: RowCounts;
  /** Such a copy was begun already, and is gone on with. */
  readonly begun: boolean;
}

/** Looks whether a copy can be made, and changes nothing on either side. */
export async function planCopy(options: Pick<CopyOptions, "source" | "target" | "to">): Promise<CopyPlan> {
  const { source, target, to } = options;
  const mark = source.mark();
  if (mark?.breaking) throw movedError(mark.name);
  assertSamePlace(mark, to);
  assertFree(target, { id: mark?.checksum, standing: await target.look() });
  return { rows: source.counts(), begun: mark !== undefined };
}
