import type { ErrorCode } from "../domain/errors.ts";
import type { Json, JsonPath } from "../domain/json.ts";
import type { Scheme } from "../verify/scheme.ts";
import type { Handshake } from "./handshake.ts";

/** Where a field of an event stands, or how it is made of others. */
export type FieldSource =
  | { readonly from: "body"; readonly path: JsonPath }
  | { readonly from: "header"; readonly name: string }
  | { readonly from: "fixed"; readonly text: string }
  /** The name of the first member of the body's object that is none of these. */
  | { readonly from: "key"; readonly except: readonly string[] }
  /** The first of these that is there. */
  | { readonly from: "first"; readonly of: readonly [FieldSource, ...FieldSource[]] }
  /** All of these that are there, in one text. */
  | { readonly from: "joined"; readonly of: readonly [FieldSource, ...FieldSource[]]; readonly by: string };

/** A digest of the content, less its volatile fields, for events that nothing else tells apart. */
export interface ContentDigest {
  readonly from: "digest";
}

/** An id made of several fields, for providers that send none; absent fields count as such. */
export interface DerivedId {
  readonly from: "derived";
  readonly parts: readonly [FieldSource | ContentDigest, ...(FieldSource | ContentDigest)[]];
}

/**
 * An id of the arrival itself, for notices that only say "something changed": the next one has the same
 * content and is another event. What a redelivery does twice has to be harmless, as a fetch is.
 */
export interface ArrivalId {
  readonly from: "arrival";
  /** An id that is taken where it is there. */
  readonly orFirst?: FieldSource;
}

/** How events of a provider are told apart. */
export interface IdentityRule {
  /** The same on every redelivery of one event, and on no other event of the account. */
  readonly id: FieldSource | DerivedId | ArrivalId;
  readonly type: FieldSource;
  /** The provider's sub-account: the first of these that is there. None is the account `""`. */
  readonly account?: readonly FieldSource[];
  /**
   * A signed field that goes with one event only, where the signature does not cover the body: whoever has
   * one signature could else put it to another. The same value with another id is suspected to be a replay.
   */
  readonly singleUse?: FieldSource;
  /** The field that tells test events from live ones. */
  readonly mode?: { readonly path: JsonPath; readonly live: Json; readonly test: Json };
}

/** What a provider's preset may change in the table of answers. */
export type AnswerName = "final" | "open" | ErrorCode;

/**
 * A provider, as data: all that Counterfoil needs to know of a sender. Where a provider's documents
 * are silent a field stays at its default, and `unconfirmed` says which fields rest on less than them.
 */
export interface ProviderSpec<Name extends string = string> {
  /** Lower-case letters, digits and dashes. */
  readonly name: Name;
  /** Any of these may have signed; the secret's form chooses between them. */
  readonly schemes: readonly [Scheme, ...Scheme[]];
  readonly identity: IdentityRule;
  /** Where `event.data` stands in the body; by default it is the whole body. */
  readonly data?: JsonPath;
  /** Fields whose values may differ between deliveries of one event. */
  readonly volatile?: readonly JsonPath[];
  /** Media types without parameters; by default `application/json`. */
  readonly contentTypes?: readonly [string, ...string[]];
  /** Content encodings that are taken beside none; by default none is. */
  readonly encodings?: readonly "gzip"[];
  /** Which bytes of an encoded body are signed: as they were sent, by default, or inflated. Those are kept. */
  readonly signedBytes?: "sent" | "inflated";
  /**
   * Where the items of a batch stand. Each is an event: `identity`, `data`, `volatile` and `samples` are
   * then of one item. Where an item holds a list of events itself, `within` says where: each of them is then
   * an event, whose item is the outer one with no other element in that list, so that what stands around it,
   * such as an account, stands with each.
   */
  readonly batch?: { readonly path: JsonPath; readonly within?: JsonPath };
  /**
   * How a body of `application/x-www-form-urlencoded` is read, where `contentTypes` has that type: as the
   * JSON in its field of this name, or by default as an object of all its fields, whose values are text.
   */
  readonly form?: { readonly json?: string };
  /** By default POST. */
  readonly methods?: readonly [string, ...string[]];
  /** The provider's own cap where it is above the default of 1 MiB. */
  readonly bodyBytesMax?: number;
  /** How long the provider waits for an answer. */
  readonly ackMs: number;
  /** Whether the provider sends again after a non-2xx or no answer. */
  readonly retries: boolean;
  /** How long after an event the provider may still send it, resends by hand included. */
  readonly redeliveryMs: number;
  /** Where the id is not signed: how long the same body under another id is suspected to be a replay. */
  readonly replayWindowMs?: number;
  /** Requests that are answered before the event path and never become events. */
  readonly handshake?: Handshake | readonly Handshake[];
  /** Statuses that the provider needs instead of the usual ones. */
  readonly answers?: Readonly<Partial<Record<AnswerName, number>>>;
  /** What a delivery that was taken is answered with, where the provider wants to read something of its own. */
  readonly answerText?: string;
  /** Bodies to send in tests, by event type; id and type are put where `identity` says. */
  readonly samples?: Readonly<Record<string, Json>>;
  /** Headers that samples are sent with, and the object that a batch of them stands in. */
  readonly sampleHeaders?: Readonly<Record<string, string>>;
  readonly sampleEnvelope?: Json;
  /** Fields that no document of the provider's confirms, each with what is known. */
  readonly unconfirmed?: Readonly<Partial<Record<keyof ProviderSpec, string>>>;
  /** What shows that the scheme is the provider's: without it a preset counts as unconfirmed. */
  readonly proof?: "published vectors" | "the provider's SDK";
  /** The provider's name as it writes it. */
  readonly title?: string;
  /** Where the provider describes all this. */
  readonly docs?: string;
}

/** A spec with its defaults filled in. */
export type ProviderRules<Name extends string = string> = ProviderSpec<Name> &
  Required<
    Pick<
      ProviderSpec,
      | "data"
      | "volatile"
      | "contentTypes"
      | "encodings"
      | "signedBytes"
      | "form"
      | "methods"
      | "bodyBytesMax"
      | "replayWindowMs"
      | "answers"
      | "samples"
      | "unconfirmed"
    >
  >;
