import type { Instant } from "../domain/instant.ts";

/** What somebody did by hand, written in the transaction that did it. No payload, no secret. */
export interface AuditEntry {
  readonly who: string;
  readonly action: string;
  /** `receipt/<id>`, `obligation/<id>` or `destination/<origin>`: what the reader finds an audit by. */
  readonly target: string;
  readonly why: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

/** Safe facts of a refused delivery: no signature, body or secret. */
export interface RefusalFacts {
  readonly at: Instant;
  readonly connection: string;
  readonly cause: string;
  readonly facts: string;
}
