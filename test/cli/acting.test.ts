/** What the command line does to more than one thing at once: bulk actions, and what is paused. */
import { expect, test, vi } from "vitest";
import { openShop } from "./command.ts";

vi.setConfig({ testTimeout: 180_000 });

test("a connection that is paused keeps what comes and says so everywhere, until it is resumed", async () => {
  const shop = await openShop();
  const { url } = await shop.serve();
  const pause = ["pause", "--connection", "stripe", "--reason", "a mend"] as const;
  expect((await shop.run(...pause, "--who", "ada", "--json")).json).toEqual([
    { action: "pause", connection: "stripe", changed: true, says: expect.stringContaining("its events are kept") },
  ]);
  expect((await shop.run(...pause)).stdout).toBe("Nothing to do. It is paused already: a mend.\n");
  expect((await shop.run("send", "stripe", "--url", url, "--id", "evt_1", "--json")).json).toMatchObject([
    { status: 202, answer: { outcome: "queued", event: "evt_1" } },
  ]);
  const [status, attention, doctor, shown] = await Promise.all([
    shop.run("status"),
    shop.run("list", "attention"),
    shop.run("doctor", "--json"),
    shop.run("show", "1"),
  ]);
  expect(status.stdout).toMatch(/^paused +connection stripe \(a mend\)$/m);
  expect(attention.stdout).toMatch(/^connection .* stripe +paused +a mend/m);
  expect(doctor.json).toContainEqual(expect.objectContaining({ level: "warning", subject: "connections" }));
  expect(shown.stdout).toContain("its connection is paused");
  const resumed = await shop.run("resume", "--connection", "stripe", "--why", "mended");
  expect(resumed.stdout).toMatch(/^Its events are applied again/);
  await shop.reaches("done");
  expect((await shop.run("list", "receipts", "--json")).json).toMatchObject([{ outcome: "applied" }]);
  expect((await shop.run("status")).stdout).not.toMatch(/^paused +connection/m);
});

test("a destination is paused by its origin, and what is not known is refused", async () => {
  const shop = await openShop();
  const { url } = await shop.serve();
  const origin = shop.carrier.url;
  expect((await shop.run("pause", origin, "--reason", "their holiday")).stdout).toMatch(/^It is paused: what is owed/);
  await shop.run("send", "stripe", "--url", url);
  expect((await shop.run("status")).stdout).toMatch(/^paused +http\S+ \(their holiday\)$/m);
  expect((await shop.run("list", "obligations", "--json")).json).toMatchObject([{ state: "owed", reached: "no" }]);
  expect((await shop.run("resume", origin)).stdout).toMatch(/^It is called again/);
  await shop.reaches("done");
  expect(await shop.run("resume", origin, "--connection", "stripe")).toMatchObject({ code: 2, stdout: "" });
  expect(await shop.run("pause", "--connection", "strip", "--reason", "x")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("it is not configured; known are stripe"),
  });
});

test("bulk counts first, and does it with --yes, each audited", async () => {
  const shop = await openShop();
  const { url, child } = await shop.serve();
  shop.carrier.failNext({ when: "before", kind: "answer", status: 422 });
  await shop.run("send", "stripe", "--url", url);
  await shop.reaches("stuck");
  await shop.run("send", "stripe", "--url", url, "--event", "broken.json");
  child.kill("SIGTERM");
  expect((await shop.run("bulk", "retry", "--effect", "ship/v1")).stdout).toBe(
    "1 fit. To retry them: the same with --yes\n",
  );
  const matched = { dryRun: true, matched: 1, changed: 0, unchanged: 0, refused: 0, refusals: [] };
  expect((await shop.run("bulk", "cancel", "--reason", "the end", "--json")).json).toEqual([
    { action: "cancel", ...matched },
  ]);
  const done = await shop.run("bulk", "cancel", "--reason", "the end", "--yes", "--who", "ada", "--json");
  expect(done.json).toEqual([{ action: "cancel", ...matched, dryRun: false, changed: 1 }]);
  expect((await shop.run("show", "acme", "1042/fulfil/v1", "--json")).json).toMatchObject([
    { obligation: { state: "cancelled" }, audit: [{ who: "ada", action: "cancel", why: "the end" }] },
  ]);
  const applied = await shop.run("bulk", "apply", "--connection", "stripe", "--yes");
  expect(applied.stdout).toBe("1 changed, 0 with nothing to do, 0 refused.\n");
  expect((await shop.run("list", "held", "--json")).json).toMatchObject([{ eventId: "evt_broken", tries: 2 }]);
});
