/** Pages of refreshes, by resource: a page goes on behind the cursor of its last row. */
import type { Refresh, ResourceKey } from "./refresh-writes.ts";

export interface ListedRefresh extends Refresh {
  /** Asks for the page after it. */
  readonly cursor: string;
}

export interface RefreshPage {
  /** The cursor of the last row of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

type Place = readonly [connection: string, account: string, kind: string, id: string];

/**
 * Where a page begins.
 *
 * @throws RangeError when it is no cursor of a refresh.
 * @example
 * ```ts
 * placeAfter(undefined); // ["", "", "", ""]
 * placeAfter("page 2"); // throws RangeError: Cannot go on after "page 2"
 * ```
 */
export function placeAfter(cursor: string | undefined): Place {
  if (cursor === undefined) return ["", "", "", ""];
  const place = parsed(cursor);
  if (Array.isArray(place) && place.length === 4 && place.every((part) => typeof part === "string")) {
    return place as unknown as Place;
  }
  throw new RangeError(`Cannot go on after "${cursor}": it is no cursor of a refresh; leave it out to begin anew`);
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, "base64url").toString());
  } catch {
    // Not what we wrote, which the caller tells.
    return undefined;
  }
}

export function listedRefresh(refresh: Refresh): ListedRefresh {
  return { ...refresh, cursor: Buffer.from(JSON.stringify(placeOf(refresh))).toString("base64url") };
}

function placeOf({ connection, account, kind, id }: ResourceKey): Place {
  return [connection, account, kind, id];
}
