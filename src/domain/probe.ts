/**
 * Called right before and right after every durable step (a statement, COMMIT, a socket write, a
 * socket read) with a name such as `settle.commit:before`.
 *
 * Crash tests must enumerate the instants at which a process can die, not choose them. An injected
 * function makes each instant countable, so that a test ends the process at the first, the second,
 * and so on until a run survives. Production injects nothing. A probe must not throw and must not
 * touch the database, so that an instrumented run takes the same steps as one without.
 */
export type Probe = (point: string) => void;
