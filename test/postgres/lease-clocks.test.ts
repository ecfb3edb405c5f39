/** Workers whose machines disagree about the time: the server's clock alone says when a lease ends. */
import { expect, test } from "vitest";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { transact } from "../../src/work/transact.ts";
import { openOffice } from "../outbox/office.ts";

const minute = 60_000;

test.each([
  [5, -5],
  [-5, 5],
])(
  "a lease of a worker that is %i minutes off is taken over by one that is %i off when it ends, and not sooner",
  async (holds, looks) => {
    await using office = await openOffice();
    const serverMs = (): number => office.clock.wallMs();
    const off = (minutes: number) => ({ clock: new VirtualClock({ wallMs: serverMs() + minutes * minute }), serverMs });
    const holder = await office.desk(off(holds));
    const other = await office.desk(off(looks));
    await holder.owe("order-1");
    const lane = { effect: "ship/v1", destination: office.provider.url, calls: true, limit: 1 };
    const claims = await transact(holder.runtime, (tx) =>
      tx.claim({ lanes: [lane], worker: "holder", leaseMs: minute }),
    );
    expect(claims).toHaveLength(1);
    for (const ms of [0, minute - 1]) {
      office.clock.advance(ms);
      await other.work();
      expect(other.kinds()).not.toContain("lease.expired");
    }
    office.clock.advance(1);
    await other.work();
    expect(other.kinds()).toContain("lease.expired");
    expect(await other.state("order-1")).not.toBe("sending");
  },
);
