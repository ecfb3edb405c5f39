/** Sends requests of chance over real HTTP, and tells what came of them. */

import { seededRandom } from "../../src/testing/random.ts";
import { openRaw, type RawConnection } from "../../src/testing/raw-http.ts";
import { fuzzRequest } from "./requests.ts";

export interface FuzzOptions {
  readonly port: number;
  readonly requests: number;
  readonly seed: number;
  /** Whether the time for it is up, with requests left. */
  readonly isOver?: () => boolean;
  /** Senders at once. */
  readonly senders?: number;
}

export interface Fuzzed {
  /** How often each status was told; 0 where the connection ended without an answer. */
  readonly statuses: Readonly<Record<number, number>>;
  /** The numbers of requests that were answered 2xx, 500, or by nothing that HTTP knows. */
  readonly wrong: readonly string[];
}

/** Every request has a chance of its own, so that one can be made again by its number. */
export async function fuzz({ port, requests, seed, isOver = () => false, senders = 24 }: FuzzOptions): Promise<Fuzzed> {
  const statuses: Record<number, number> = {};
  const wrong: string[] = [];
  let next = 0;
  const send = async (): Promise<void> => {
    let connection: RawConnection | undefined;
    while (next < requests && !isOver()) {
      const number = next++;
      const { parts, endless } = fuzzRequest(seededRandom(seed + number));
      connection ??= await openRaw(port);
      const status = await exchange(connection, parts, endless);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (isWrong(status)) wrong.push(`seed ${seed}, request ${number}: ${status}`);
      // Behind anything odd the next request may be taken for the rest of this one.
      await connection[Symbol.asyncDispose]();
      connection = undefined;
    }
  };
  await Promise.all(Array.from({ length: senders }, send));
  return { statuses, wrong };
}

async function exchange(connection: RawConnection, parts: readonly Uint8Array[], endless: boolean): Promise<number> {
  try {
    for (const part of parts) await connection.send(part);
    if (endless) connection.end();
    for (;;) {
      const { status } = await connection.read({ bodiless: true });
      if (status >= 200) return status;
    }
  } catch {
    return 0;
  }
}

/** 503 is for who comes at a bad time, and for a connection that cannot be found out about. */
function isWrong(status: number): boolean {
  return status !== 0 && !(status >= 400 && status < 500) && status !== 503;
}
