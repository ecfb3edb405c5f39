import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Child, startChild } from "../../bench/kit/child.ts";
import { closedLoop } from "../../bench/kit/closed-loop.ts";
import { stripeRequests, type StripeRequests } from "../../bench/kit/stripe-requests.ts";

/** A receiver that takes part in a bench, and how to see what it has kept. */
export interface RacingReceiver {
  readonly name: string;
  /** Its script under `bench/`. */
  readonly script: string;
  readonly receiptIds: string;
  readonly owed: string;
}

/** Where a receiver keeps its data. */
export interface RacePlace extends AsyncDisposable {
  /** Its first argument. */
  readonly where: string;
  /** The first column of what is committed. */
  readonly column: (sql: string) => Promise<readonly unknown[]>;
  /** Waits until nothing of a killed receiver is under way any more. */
  readonly quiet: () => Promise<void>;
}

const secret = "whsec_of_this_test";
const paid = "SELECT count(*) FROM orders WHERE status = 'paid'";

/** Who races has to keep what it acknowledges, or the race is unfair. */
export function describeRacingReceiver(receiver: RacingReceiver, makePlace: () => Promise<RacePlace>): void {
  const { name, script, receiptIds, owed } = receiver;
  let place: RacePlace;
  let server: Child;
  let port: number;

  beforeEach(async () => {
    place = await makePlace();
    server = startChild(script, { args: [place.where], env: { STRIPE_SECRET: secret } });
    port = Number((await server.line(/^listening (\d+)$/, { timeoutMs: 100_000 }))[1]);
  });

  afterEach(async () => {
    await server.end();
    await place[Symbol.asyncDispose]();
  });

  async function sendCopies(requests: StripeRequests, copies: number): Promise<number[]> {
    const statuses: number[] = [];
    let left = copies;
    await closedLoop({
      port,
      connections: copies,
      next() {
        if (left === 0) return undefined;
        left -= 1;
        return { index: 0, bytes: requests.bytes(0) };
      },
      onAnswer({ status }) {
        // A sender that is asked to come again does.
        if (status === 503) left += 1;
        else statuses.push(status);
      },
    });
    return statuses;
  }

  describe(`the ${name} receiver`, () => {
    test("keeps one receipt and one obligation of 50 copies that arrive at once", async () => {
      const requests = stripeRequests({ count: 1, secret });
      const statuses = await sendCopies(requests, 50);
      expect(statuses).toEqual(Array.from({ length: 50 }, () => 200));
      expect(await place.column(receiptIds)).toEqual([requests.id(0)]);
      expect(await place.column(owed)).toEqual([1]);
      expect(await place.column(paid)).toEqual([1]);
    });

    test("stores nothing of a delivery that is signed with another secret", async () => {
      const forged = stripeRequests({ count: 1, secret: "whsec_of_somebody_else" });
      expect(await sendCopies(forged, 1)).toEqual([401]);
      expect(await place.column(receiptIds)).toEqual([]);
    });

    test("has every event that it acknowledged before it was killed under load", async () => {
      const requests = stripeRequests({ count: 5_000, secret });
      const acknowledged: string[] = [];
      let sent = 0;
      const load = closedLoop({
        port,
        connections: 16,
        next: () => ({ index: sent, bytes: requests.bytes(sent++) }),
        onAnswer({ index, status }) {
          if (status === 200) acknowledged.push(requests.id(index));
          if (acknowledged.length === 300) void server.kill();
        },
      });
      await expect(load).rejects.toThrow();
      expect(acknowledged.length).toBeGreaterThanOrEqual(300);

      await place.quiet();
      const receipts = new Set(await place.column(receiptIds));
      expect(acknowledged.filter((id) => !receipts.has(id))).toEqual([]);
      expect(await place.column(owed)).toEqual([receipts.size]);
      expect(await place.column(paid)).toEqual([receipts.size]);
    });
  });
}
