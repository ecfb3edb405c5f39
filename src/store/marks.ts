/**
 * Marks beside a schema's migrations, which tell what a copy has made of a store. They stand among the
 * migrations that ran, as breaking ones while the store must not be used, so that no version of this
 * package opens it, whatever it knows of copies.
 */
import { CounterfoilError } from "../domain/errors.ts";

/** Numbers of marks, beyond those of all migrations. */
export const markNumbers = {
  /** What the store holds is copied, or was moved, to another. */
  moving: 1_000_000,
  /** What the store holds is not all there yet, or came from another. */
  copied: 1_000_001,
} as const;

/** A mark as the database records it, in the columns of a migration. */
export interface Mark {
  readonly number: number;
  /** The other store, for people. */
  readonly name: string;
  /** Names the copy, the same in both stores. */
  readonly checksum: string;
  /** The store must not be used. */
  readonly breaking: boolean;
}

/**
 * Lets only a store through that may be used.
 *
 * @throws CounterfoilError STORE_MOVED or STORE_INCOMPLETE.
 */
export function assertUsable(applied: readonly Pick<Mark, "number" | "name" | "breaking">[]): void {
  for (const { number, name, breaking } of applied) {
    if (!breaking) continue;
    if (number === markNumbers.moving) throw new CounterfoilError("STORE_MOVED", movedText(name));
    if (number === markNumbers.copied) throw new CounterfoilError("STORE_INCOMPLETE", incompleteText(name));
  }
}

/** What whoever uses a moved store is told. */
export function movedText(to: string): string {
  return `${movedTo} ${to}; point the configuration there`;
}

const movedTo = "Cannot use the store: it was moved to";

/** Whether a text of the database's is ours. */
export function isMovedText(text: string): boolean {
  return text.startsWith(movedTo);
}

/** What whoever uses a store is told that is not all there. */
export function incompleteText(from: string): string {
  return `Cannot use the store: it is a copy of ${from} that is not all there yet; end it with "counterfoil copy --final"`;
}

/** Whether a recorded migration is a mark. */
export function isMark({ number }: { readonly number: number }): boolean {
  return number === markNumbers.moving || number === markNumbers.copied;
}
