import { expect, test } from "vitest";
import { openOffice } from "./office.ts";

test("an owed effect is sent once, with its key and its credentials, and is done", async () => {
  await using office = await openOffice();
  const ship = office.effect({ headers: () => ({ authorization: "Bearer t0ken" }) });
  const desk = await office.desk({ effects: [ship] });
  await desk.owe("order-1");
  await desk.work();
  const { obligation, attempts, answer, lease } = await desk.see("order-1");
  expect(obligation).toMatchObject({ state: "done", reached: "yes", dueAt: null, tries: 0 });
  expect(attempts).toMatchObject([{ kind: "send", verdict: "done", status: 201, phase: "complete" }]);
  expect(new TextDecoder().decode(answer?.body)).toContain('"id"');
  expect(lease).toBeNull();
  const [request] = office.provider.requests;
  expect(request).toMatchObject({ key: expect.stringMatching(/^cf-/) as string });
  expect(office.provider.counts()).toMatchObject({ requests: 1, effects: 1 });
});
