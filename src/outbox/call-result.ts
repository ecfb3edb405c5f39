import type { HttpAnswer } from "../domain/answer-mark.ts";

/** The steps of a call, in order; a result names the one it ended in. */
export type CallPhase = "resolve" | "connect" | "tls" | "write" | "headers" | "body" | "complete";

/** Why there is no answer, as a short code that may be stored and shown. */
export type CallCause =
  /** The destination guard or the headers forbade it. */
  | "blocked"
  | "unsendable"
  /** The name has no address, nobody listens, no way there, or the TLS handshake failed. */
  | "unresolved"
  | "refused"
  | "unreachable"
  | "tls"
  /** The caller took it back right before the first byte. */
  | "withdrawn"
  /** The connection ended, or what came back was not HTTP. */
  | "reset"
  | "malformed"
  /** A time limit, the caller's signal, or the end of the `Caller`. */
  | "deadline"
  | "aborted"
  | "closed";

/**
 * How one call ended. `reached` is about the request's bytes: `"no"` is proof that not one was
 * written. Whether the effect exists is another question, which only the status can answer.
 */
export type CallResult =
  | (HttpAnswer & { readonly kind: "answered"; readonly reached: "yes"; readonly phase: CallPhase })
  | (Unanswered & { readonly kind: "not_sent"; readonly reached: "no" })
  | (Unanswered & { readonly kind: "unknown"; readonly reached: "maybe" });

interface Unanswered {
  readonly phase: CallPhase;
  readonly cause: CallCause;
  /** An error code of the system, such as `ECONNREFUSED`, or the reason for a block. Never a payload or a secret. */
  readonly detail: string;
}
