/**
 * Keeps calls whose destination comes from data away from the inside of the network.
 *
 * A URL is looked at once, by its parsed form: numeric and mapped spellings of an address have become
 * the address by then. A name is resolved once, by the lookup that the connection itself uses: every
 * address must be public, and the socket connects to one of those and no other, so a name that
 * answers differently the second time is never asked a second time. An origin that the effect allows
 * by name may be plain http and may be anywhere.
 */
import { lookup as resolveName, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "./public-address.ts";

/** What the guard says of a URL. */
export type Destination =
  | { readonly kind: "public" | "allowed"; readonly url: URL }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Checks where a URL leads, as far as it can be known without resolving a name.
 *
 * @param options.allow origins that may be called although they are not public https.
 * @example
 * ```ts
 * checkDestination("https://127.1/", { allow: [] }).kind; // "refused"
 * checkDestination("http://127.0.0.1:4601/v1", { allow: ["http://127.0.0.1:4601"] }).kind; // "allowed"
 * ```
 */
export function checkDestination(text: string, { allow }: { readonly allow: readonly string[] }): Destination {
  if (!URL.canParse(text)) return refused("it is not an absolute URL");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return refused("it is neither https nor http");
  if (url.username !== "" || url.password !== "") return refused("it carries credentials; give them as a header");
  if (allow.includes(url.origin)) return { kind: "allowed", url };
  if (url.protocol !== "https:") return refused(`it is not https${allowHint(url.origin)}`);
  if (url.port !== "" && Number(url.port) < 1024) {
    return refused(`its port belongs to another service${allowHint(url.origin)}`);
  }
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isPublicAddress(host)) return refused(`its address is not public${allowHint(url.origin)}`);
  return { kind: "public", url };
}

/**
 * Says why an entry of an allow list can never match; `undefined` when it can.
 *
 * @example
 * ```ts
 * originProblem("http://carrier.internal/v1"); // 'is not an origin, write "http://carrier.internal"'
 * ```
 */
export function originProblem(origin: string): string | undefined {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    return 'is not an http or https origin, such as "http://carrier.internal:8080"';
  }
  return url.origin === origin ? undefined : `is not an origin, write "${url.origin}"`;
}

/** The host as a socket takes it: an IPv6 literal without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Gives every address of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Resolves as the operating system does, `/etc/hosts` included. */
export function systemResolve(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    resolveName(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}

/** A name led somewhere that is not public. The message names the host, never the address that was found. */
export class DestinationRefused extends Error {
  override readonly name: string = "DestinationRefused";
}

/**
 * The lookup for a socket that goes to `kind`: it resolves once, and hands on either every address or
 * an error. A socket does not ask it for an address literal; `checkDestination` has seen those.
 */
export function guardedLookup(kind: "public" | "allowed", resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    const answer = (error: NodeJS.ErrnoException | null, found: readonly LookupAddress[]): void => {
      const [first] = found;
      if (error !== null || first === undefined) return callback(error ?? noAddress(hostname), "", 0);
      return options.all ? callback(null, [...found]) : callback(null, first.address, first.family);
    };
    resolve(hostname).then(
      (found) => answer(kind === "allowed" ? null : problemOf(hostname, found), found),
      (error: unknown) => answer(error instanceof Error ? error : noAddress(hostname), []),
    );
  };
}

function problemOf(hostname: string, found: readonly LookupAddress[]): Error | null {
  if (found.every(({ address }) => isPublicAddress(address))) return null;
  return new DestinationRefused(`Cannot call ${hostname}: it resolves to an address that is not public`);
}

function noAddress(hostname: string): Error {
  return Object.assign(new Error(`Cannot resolve ${hostname}: it has no address`), { code: "ENODATA" });
}

/** What to write where the call is meant: an origin of a URL has no path, query or credentials. */
export function allowHint(origin: string): string {
  return `; if that is meant, give its effect allow: ["${origin}"]`;
}

function refused(reason: string): Destination {
  return { kind: "refused", reason };
}
