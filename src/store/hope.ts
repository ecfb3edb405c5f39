/** So many transactions in a row in which no attempt was undone. */
const earnedBy = 64;

/**
 * Whether savepoints may be left out. They cost as much as the statements that they could undo, and where nearly
 * every handler applies its event nearly none is needed. Hope is earned, and lost with the first attempt that is
 * undone, so that handlers that often decide against an event are not run twice each time.
 */
export class Hope {
  #kept = 0;

  get isEarned(): boolean {
    return this.#kept >= earnedBy;
  }

  keep(): void {
    this.#kept += 1;
  }

  lose(): void {
    this.#kept = 0;
  }
}
