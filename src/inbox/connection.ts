import type { Event, Handler } from "../domain/handler.ts";
import type { Instant } from "../domain/instant.ts";
import type { HandshakeSettings } from "../providers/handshake.ts";
import type { Provider } from "../providers/provider.ts";
import type { Keyring } from "../verify/keyring.ts";

/** What of a provider a connection needs: everything but the types of its events. */
export type Sender<Name extends string = string> = Pick<Provider<Name>, "name" | "rules" | "plan">;

/** Gives the tenant of a signed account; `null` when the account belongs to none. */
export type TenantOf = (account: string) => string | null;

/** What may become of an event that does not tell its mode. */
export const missingModes = ["quarantine", "ignore", "accept"] as const;
export type MissingMode = (typeof missingModes)[number];

/** One configured source, checked and ready. */
export interface Connection {
  readonly id: string;
  readonly provider: Sender;
  readonly keyring: Keyring;
  readonly tenant: string | TenantOf;
  /** Handlers by event type. */
  readonly handlers: ReadonlyMap<string, Handler>;
  /** What becomes of an event whose handler fails, when it came over HTTP. */
  readonly failing: "hold" | "refuse";
  /** Whether its handlers run before the answer, or afterwards, by a worker. */
  readonly apply: "now" | "later";
  /** The mode whose events are taken; others are `ignored`. `null` takes every mode. */
  readonly mode: "live" | "test" | null;
  /** What becomes of an event that does not tell its mode, where only one is taken. */
  readonly missingMode: MissingMode;
  readonly bodyBytesMax: number;
  /** Time of one run of a handler while the sender waits, its statements included: what its patience leaves. */
  readonly handlerMs: number;
  readonly bytesKeptMs: number;
  /** Where ids are not signed: how long the same content under another id is suspected to be a replay. */
  readonly replayWindowMs: number;
  /** What its provider's handshake needs. */
  readonly handshake: HandshakeSettings;
  /** Orders events that one arrival releases; smaller first, arrival order among equals. */
  readonly releaseBy: ((event: Event) => number) | null;
  /** Names the line in which events are applied one after the other; `null` for an event of none. */
  readonly order: ((event: Event) => string | null) | null;
  /** How long no new event may come before somebody is told; `null` for ever. */
  readonly silentAfterMs: number | null;
  /** Secrets whose end is known. */
  readonly endingSecrets: readonly { readonly id: string; readonly until: Instant }[];
}

/** The tenant that an account's events belong to; `null` when there is none. */
export function tenantOf(connection: Connection, account: string): string | null {
  return typeof connection.tenant === "string" ? connection.tenant : connection.tenant(account);
}
