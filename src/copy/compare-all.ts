import { copyDiffers, differingKeys, rowsDigest, type UnitKey, unitKinds } from "../store/copying.ts";
import type { CopyTarget } from "../store/postgres/copy-target.ts";
import type { BatchBounds, CopySource } from "../store/sqlite/copy-source.ts";

export interface CompareOptions {
  readonly source: CopySource;
  readonly target: CopyTarget;
  readonly bounds: BatchBounds;
  /** Hears how many units of a kind were compared so far. */
  readonly onBatch?: ((kind: string, units: number) => void) | undefined;
}

/**
 * Reads every unit on both sides, what the target has and the file has not included.
 *
 * The file is in use meanwhile: a unit may differ if a change of it is noted. Nothing but the copy itself
 * forgets such notes, so that one that was made before the unit was read is found after it.
 *
 * @throws CounterfoilError COPY_DIFFERS naming the first unit that is not the same for no such reason.
 */
export async function compareAll({ source, target, bounds, onBatch }: CompareOptions): Promise<void> {
  for (const kind of unitKinds) {
    let units = 0;
    let after: UnitKey | null = null;
    for (let isEnd = false; !isEnd;) {
      const walk = source.readAfter(kind, after, bounds);
      const { keys, rows } = walk;
      ({ isEnd } = walk);
      const upTo: UnitKey | null = isEnd ? null : (keys.at(-1) ?? null);
      const there = await target.readRange(kind, after, upTo);
      if (rowsDigest(rows) !== rowsDigest(there)) {
        const isNoted = source.changed(kind);
        const strange = differingKeys(kind, rows, there).find((key) => !isNoted(key));
        if (strange) throw copyDiffers(kind, strange);
      }
      units += keys.length;
      onBatch?.(kind, units);
      after = upTo;
    }
  }
}
