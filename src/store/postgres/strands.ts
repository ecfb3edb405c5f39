/**
 * Strands of a transaction: bodies that run beside each other on one connection, as if one after the other.
 *
 * A connection carries out what it is sent in the order in which it is sent. So while a body waits for the answer
 * to the last statement that it is going to send, the next one may already send its first: nothing of the one is
 * carried out among what the other does. That a statement is the last can only be guessed. A strand that sends
 * something after a later one has done so has guessed wrong, and the whole transaction has to run again.
 */

import type { DriverQuery, DriverResult } from "./driver.ts";
import type { Doing } from "./errors.ts";
import { lostRace } from "./lost-race.ts";
import type { Line } from "./session.ts";

/** The strands that a transaction has had so far. */
export class Strands {
  readonly #session: Line;
  #made = 0;
  /** The newest strand that has sent something. */
  #newest = 0;

  constructor(session: Line) {
    this.#session = session;
  }

  /** A strand behind those before it. */
  next(): StrandLine {
    const place = (this.#made += 1);
    return new StrandLine(this.#session, () => {
      if (place < this.#newest) {
        throw lostRace("a handler sent one more statement than before, and the next one had begun");
      }
      this.#newest = place;
    });
  }
}

/** The connection, as one strand uses it. */
export class StrandLine implements Line {
  readonly #session: Line;
  readonly #takeTurn: () => void;
  /** Settles with the last statement of this strand. */
  #last: Promise<unknown> = Promise.resolve();
  #sent = 0;
  #awaited: { readonly sent: number; readonly resolve: () => void } | undefined;

  constructor(session: Line, takeTurn: () => void) {
    this.#session = session;
    this.#takeTurn = takeTurn;
  }

  /** Statements of this strand, one that was refused included. */
  get sent(): number {
    return this.#sent;
  }

  get lost(): Line["lost"] {
    return this.#session.lost;
  }

  get isSound(): boolean {
    return this.#session.isSound;
  }

  /** Resolves once the strand has sent so many statements. Has one caller at a time. */
  until(sent: number): Promise<void> {
    if (this.#sent >= sent) return Promise.resolve();
    return new Promise((resolve) => (this.#awaited = { sent, resolve }));
  }

  async send(query: DriverQuery, doing: Doing): Promise<DriverResult> {
    this.#count();
    const answer = this.#session.send(query, doing);
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  prepend(text: string): void {
    this.#last = this.send({ text }, "statement").catch(() => undefined);
  }

  async tidy(): Promise<void> {
    this.#count();
    await this.#session.tidy();
  }

  async idle(): Promise<void> {
    for (let last; last !== this.#last;) {
      last = this.#last;
      await last;
    }
  }

  // Bounds touch no data, so they may come in any order: each strand sets its own before it asks something.
  boundLocks(lockMs: number): void {
    this.#session.boundLocks(lockMs);
  }

  boundStatements(leftMs: number): void {
    this.#session.boundStatements(leftMs);
  }

  unbound(): void {
    this.#session.unbound();
  }

  #count(): void {
    this.#sent += 1;
    this.#takeTurn();
    if (this.#awaited === undefined || this.#sent < this.#awaited.sent) return;
    this.#awaited.resolve();
    this.#awaited = undefined;
  }
}
