/** A request is what it was when it was owed, whatever code sends it. */
import { expect, test } from "vitest";
import { openOffice } from "../outbox/office.ts";

test("a deployment between two attempts changes neither address, body nor key of what was owed before", async () => {
  await using office = await openOffice();
  const url = `${office.provider.url}/v1/shipments`;
  const older = office.effect({
    request: ({ input, key }) => ({
      method: "POST",
      url,
      json: { ...input, ref: key, builtAt: office.clock.wallMs() },
    }),
  });
  const newer = office.effect({
    request: ({ input, key }) => ({ method: "PUT", url: `${url}?v=2`, json: { ref: key, items: [input] } }),
  });
  const before = await office.desk({ effects: [older] });
  office.provider.failNext({ when: "after", kind: "reset" });
  await before.owe("order-1");
  await before.work();
  const { requestDigest } = await before.see("order-1");
  office.clock.advance(2_000);

  const after = await office.desk({ effects: [newer] });
  await after.owe("order-1");
  await after.work();
  const detail = await after.see("order-1");
  expect(detail.obligation.state).toBe("done");
  expect(detail.requestDigest).toBe(requestDigest);
  const [first, second] = office.provider.requests;
  expect(second).toMatchObject({ method: "POST", url: first?.url, body: first?.body, key: first?.key });
  expect(office.provider.counts()).toMatchObject({ requests: 2, effects: 1 });
});
