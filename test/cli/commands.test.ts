import { existsSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { storeAt } from "../support/engine.ts";
import { counterfoil, openShop, Running, type Shop } from "./command.ts";

vi.setConfig({ testTimeout: 180_000 });

const key = ["acme", "1042/fulfil/v1"] as const;
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const refused = { when: "before", kind: "answer", status: 422 } as const;

/** A shop whose worker has met a carrier that refused the one shipment owed. */
async function openStuckShop(): Promise<Shop> {
  const shop = await openShop();
  shop.carrier.failNext(refused);
  const { url, child } = await shop.serve();
  expect((await shop.run("send", "stripe", "--url", url, "--id", "evt_1")).code).toBe(0);
  await shop.reaches("stuck");
  child.kill("SIGTERM");
  return shop;
}

test("serve receives what send signs, and status, list and show tell of it", async () => {
  const shop = await openShop();
  const { url } = await shop.serve();
  const sent = await shop.run("send", "stripe", "--url", url, "--id", "evt_1", "--times", "2", "--json");
  expect(sent.json).toEqual([
    { status: 200, accepted: true, answer: { outcome: "applied", event: "evt_1" } },
    { status: 200, accepted: true, answer: { outcome: "duplicate", first: "applied", event: "evt_1" } },
  ]);
  await shop.reaches("done");
  expect((await shop.run("status", "--json")).json).toEqual([
    {
      now: iso,
      receipts: { applied: 1 },
      obligations: { done: 1 },
      deliveries: 2,
      mismatches: 0,
      refusals: {},
      refreshes: { owed: 0, failed: 0, due: [] },
      unregistered: [],
      oldestOwedAt: null,
      oldestOwedMs: null,
      due: [],
      workers: [{ name: expect.any(String), effects: ["ship/v1"], startedAt: iso, seenAt: iso, stoppedAt: null }],
      running: 1,
      untaken: [],
      pausedDestinations: [],
      pausedConnections: [],
      log: { bytes: expect.any(Number), uncopiedBytes: expect.any(Number) },
      needsYou: 0,
      needsYouIsCut: false,
    },
  ]);
  expect((await shop.run("list", "receipts", "--json")).json).toEqual([
    {
      id: 1,
      connection: "stripe",
      account: "",
      eventId: "evt_1",
      tenant: "acme",
      type: "payment_intent.succeeded",
      outcome: "applied",
      reason: null,
      receivedAt: iso,
      decidedAt: iso,
      deliveries: 2,
      tries: 0,
      starts: 0,
      dueAt: null,
      deadlineAt: null,
      version: 1,
      digest: expect.any(String),
      secretId: expect.any(String),
    },
  ]);
  const [shown] = (await shop.run("show", ...key, "--json")).json;
  expect(shown).toMatchObject({
    obligation: { operationKey: key[1], state: "done", reached: "yes", receiptId: 1 },
    request: { method: "POST", destination: shop.carrier.url, bytes: 44, digest: expect.any(String) },
    answer: { status: 201, truncated: false },
    next: { text: "nothing more is owed", at: null, needsOperator: false },
    attempts: [{ fence: 1, kind: "send", verdict: "done", status: 201, startedAt: iso, endedAt: iso }],
    audit: [],
  });
  expect(JSON.stringify(shown)).not.toContain("/v1/shipments");
  const text = (await shop.run("show", "1")).stdout;
  expect(text).toMatch(/^outcome +applied$/m);
  expect(text).toMatch(/^Obligations\n +id +operationKey/m);
});

test("retry, cancel and a second click are told apart, in text and in JSON, by exit code", async () => {
  const shop = await openStuckShop();
  expect((await shop.run("list", "stuck")).stdout).toMatch(/^id .* reached +tries +dueAt/);
  expect((await shop.run("list", "attention")).stdout).toMatch(
    /^obligation +1 +acme 1042\/fulfil\/v1 +stuck +status 422/m,
  );
  expect((await shop.run("show", ...key, "--payload")).stdout).toMatch(/^Refused with\n +422$/m);
  expect((await shop.run("show", ...key)).stdout).not.toContain("Refused with");
  const retried = await shop.run("retry", ...key, "--why", "mended", "--who", "ada", "--json");
  expect(retried).toMatchObject({ code: 0, stderr: "" });
  expect(retried.json).toEqual([
    {
      action: "retry",
      tenant: "acme",
      operationKey: key[1],
      changed: true,
      says: expect.stringContaining("It is due now"),
    },
  ]);
  const again = await shop.run("retry", ...key);
  expect(again).toMatchObject({ code: 0, stdout: "Nothing to do. It is due already: a worker takes it next.\n" });
  const stale = await shop.run("cancel", ...key, "--reason", "x", "--fence", "1", "--json");
  expect(stale).toMatchObject({ code: 1, stdout: "" });
  expect(JSON.parse(stale.stderr)).toEqual({
    error: "CHANGED",
    message: expect.stringContaining("it changed since you looked"),
  });
  const [shown] = (await shop.run("show", ...key, "--json")).json;
  expect(shown?.["audit"]).toEqual([
    {
      at: iso,
      who: "ada",
      action: "retry",
      why: "mended",
      before: expect.stringContaining("stuck"),
      after: expect.stringContaining("owed"),
    },
  ]);
  expect((await shop.run("cancel", ...key, "--reason", "no longer wanted")).stdout).toBe(
    "It is cancelled: nothing more is sent.\n",
  );
  const gone = await shop.run("cancel", "acme", "1043/fulfil/v1", "--reason", "x");
  expect(gone).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^Cannot find obligation .* \[NOT_FOUND\]\n$/),
  });
});

test("a full page says how to ask for the next, and what comes behind it is the rest", async () => {
  const shop = await openStuckShop();
  const { stdout } = await shop.run("list", "attention", "--limit", "1");
  const [, cursor = ""] = /\n\nThere may be more: the same with --after (\S+)\n$/.exec(stdout) ?? [];
  const [row] = (await shop.run("list", "attention", "--limit", "1", "--json")).json;
  expect(row).toMatchObject({ kind: "obligation", operationKey: key[1], cursor });
  expect((await shop.run("list", "attention", "--after", cursor)).stdout).toBe("No attention.\n");
  expect((await shop.run("list", "stuck", "--limit", "1")).stdout).toMatch(/the same with --before 1\n$/);
  expect(await shop.run("list", "attention", "--after", "1")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Cannot go on after "1"'),
  });
});

test("every action reaches its verb", async () => {
  const shop = await openStuckShop();
  const refusedBy = async (...args: readonly string[]) => {
    const { code, stderr } = await shop.run(...args, "--json");
    return [code, (JSON.parse(stderr) as { readonly message: string }).message];
  };
  expect(await refusedBy("lookup", ...key)).toEqual([
    1,
    expect.stringMatching(/^Cannot lookup obligation .*nothing can have reached/),
  ]);
  expect((await shop.run("renew-key", ...key, "--json")).json).toMatchObject([
    { changed: true, says: expect.stringContaining("generation 2") },
  ]);
  expect((await shop.run("done", ...key, "--evidence", "s-1", "--answer", '{"id":"s-1"}')).stdout).toBe(
    "It is done.\n",
  );
  expect((await shop.run("resume", shop.carrier.url)).stdout).toBe("Nothing to do. It is not paused.\n");
  expect((await shop.run("apply", "1")).stdout).toMatch(/^Nothing to do\. It is applied already/);
  expect((await shop.run("reprocess", "1", "--seen", "1", "--json")).json).toMatchObject([
    { action: "reprocess", receiptId: 1, changed: true },
  ]);
  expect(await refusedBy("reprocess", "1", "--seen", "1")).toEqual([
    1,
    expect.stringMatching(/^Cannot reprocess receipt 1: it changed/),
  ]);
  expect((await shop.run("resolve", "1", "keep")).stdout).toBe("Nothing to do. It is applied already.\n");
});

test("held and parked events are listed apart, and a filter that does not fit is a usage error", async () => {
  const shop = await openShop();
  const { url } = await shop.serve("--role", "receiver");
  for (const order of ["broken", "unknown"]) {
    expect((await shop.run("send", "stripe", "--url", url, "--event", `${order}.json`)).stdout).toMatch(
      /^202 .*\nWhy it is (?:held|parked): counterfoil list receipts --event evt_\w+\n$/,
    );
  }
  expect((await shop.run("status")).stdout).toMatch(
    /^last held +evt_broken: HANDLER_FAILED: Error at counterfoil\.config\.ts:\d+; counterfoil show \d+$/m,
  );
  expect((await shop.run("status", "--json")).json).toMatchObject([{ lastHeld: { eventId: "evt_broken" } }]);
  expect((await shop.run("list", "held")).stdout).toMatch(
    /tries +dueAt +reason\n.*evt_broken .* 1 +\S+T\S+Z +HANDLER_FAILED: Error at counterfoil\.config\.ts:\d+\n$/,
  );
  const events = (await shop.run("list", "events")).stdout;
  expect(events).toMatch(/evt_unknown .* parked .*\n.*evt_broken .* held /);
  expect((await shop.run("list", "receipts")).stdout).toBe(events);
  expect((await shop.run("list", "queued")).stdout).toBe("No queued.\n");
  expect((await shop.run("list", "parked", "--json")).json).toMatchObject([
    { eventId: "evt_unknown", reason: "waits for order" },
  ]);
  expect((await shop.run("list", "receipts", "--event", "evt_broken", "--limit", "5", "--json")).json).toHaveLength(1);
  expect((await shop.run("list", "conflicts")).stdout).toBe("No conflicts.\n");
  expect(await shop.run("list", "held", "--state", "owed")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--state does not fit list held"),
  });
});

test("status says that no worker runs, and how to start one", async () => {
  const shop = await openShop();
  const { url } = await shop.serve("--role", "receiver");
  const workers = async () => /^workers +(.*)$/m.exec((await shop.run("status")).stdout)?.[1];
  expect(await workers()).toBe("none running, the last seen never");
  await shop.run("send", "stripe", "--url", url);
  expect(await workers()).toBe(
    "none running, the last seen never, and work is due; start: counterfoil serve --role worker",
  );
  expect((await shop.run("status")).stdout).toMatch(/^oldest due +\d+ s, since /m);
  expect((await shop.run("status")).stdout).toMatch(/^log +\d+\.\d MiB, \d+\.\d not copied yet$/m);
  expect((await shop.run("status", "--json")).json).toMatchObject([{ running: 0, due: [{ effect: "ship/v1" }] }]);
  const worker = new Running(["serve", "--role", "worker", "--log", "silent"], { env: shop.env });
  onTestFinished(() => void worker.child.kill("SIGKILL"));
  await shop.reaches("done");
  await eventually(async () => (await workers()) === "1 running");
});

test("a refresh of a kind that the configuration lacks is counted, listed, and found by doctor", async () => {
  const shop = await openShop();
  expect((await shop.run("migrate")).code).toBe(0);
  const store = storeAt(shop.env["SHOP_DATABASE"]!);
  await store.open();
  const key = { connection: "stripe", account: "", kind: "customer", id: "c-1" };
  await store.transaction((tx) => tx.wantRefreshes([{ ...key, tenant: "acme" }]), { waitMs: 5_000 });
  await store.close();
  expect((await shop.run("status", "--json")).json).toMatchObject([
    { refreshes: { owed: 1, failed: 0, due: [{ kind: "customer", at: iso }] }, unregistered: ["customer"] },
  ]);
  expect((await shop.run("status")).stdout).toMatch(
    /^refreshes +owed 1, and this configuration registers no customer; add it to resources in defineApp$/m,
  );
  expect((await shop.run("list", "refreshes", "--json")).json).toMatchObject([
    { ...key, tenant: "acme", state: "waiting", tries: 0, dueAt: iso, reason: null, cursor: expect.any(String) },
  ]);
  const listed = await shop.run("list", "refreshes", "--limit", "1");
  expect(listed.stdout).toMatch(/^stripe +- +customer +c-1 +waiting/m);
  const cursor = / --after (\S+)$/m.exec(listed.stdout)?.[1] ?? "";
  expect((await shop.run("list", "refreshes", "--after", cursor)).stdout).toBe("No refreshes.\n");
  expect((await shop.run("doctor")).stdout).toMatch(/refresh of customer is due.*registers no resource of that kind/);
  expect(await shop.run("bulk", "drop")).toMatchObject({ code: 2, stderr: expect.stringContaining("needs --kind") });
  expect((await shop.run("bulk", "drop", "--kind", "customer")).stdout).toBe(
    "1 fit. To drop them: the same with --yes\n",
  );
  expect((await shop.run("bulk", "drop", "--kind", "customer", "--yes")).stdout).toMatch(/^1 changed, 0 with nothing/);
  expect((await shop.run("list", "refreshes")).stdout).toBe("No refreshes.\n");
});

test("prune counts what is old, in text and in JSON, and says when nothing is", async () => {
  const shop = await openShop();
  const { url } = await shop.serve("--role", "receiver", "--log", "silent");
  expect((await shop.run("prune")).stdout).toBe("Nothing is old.\n");
  const soon = new Running(["serve", "--role", "worker", "--log", "silent"], { env: shop.env });
  onTestFinished(() => void soon.child.kill("SIGKILL"));
  await shop.run("send", "stripe", "--url", url);
  await shop.reaches("done");
  const env = { ...shop.env, SHOP_REQUESTS_MS: "0" };
  const counts = { payloads: 0, requests: 1, answers: 1, attempts: 0, refusals: 0 };
  const pruned = async (...args: readonly string[]) => (await counterfoil(["prune", ...args], { env })).stdout;
  expect(JSON.parse(await pruned("--dry-run", "--json"))).toEqual({ dryRun: true, ...counts });
  expect(await pruned("--dry-run")).toMatch(/^Would go:\npayloads +0\nrequests +1\n/);
  expect(JSON.parse(await pruned("--json", "--why", "disk"))).toEqual({ dryRun: false, ...counts });
  expect(await pruned()).toBe("Nothing is old.\n");
  const shown = await shop.run("show", ...key, "--payload");
  expect(shown.stdout).toMatch(/^request +removed by retention$/m);
});

test("payload is shown only when it is asked for, and what a terminal would act on is shown as text", async () => {
  const shop = await openShop();
  const { url } = await shop.serve("--role", "receiver");
  await shop.run("send", "stripe", "--url", url, "--event", "hostile.json");
  const [plain, full, json] = await Promise.all([
    shop.run("show", "1"),
    shop.run("show", "1", "--payload"),
    shop.run("show", "1", "--payload", "--json"),
  ]);
  expect(plain.stdout).not.toContain("canary");
  expect(plain.stdout).toContain(String.raw`t\u{1b}[2J`);
  expect(full.stdout).toContain(String.raw`canary \u{7f}\u{9b}31m\u{202e}`);
  const active = /[^\P{Cc}\n]|\u202e/u;
  for (const { stdout } of [plain, full, json]) expect(stdout).not.toMatch(active);
  const body = json.json[0] as { readonly payload: { readonly body: { readonly text: string } } };
  expect(body.payload.body.text).toContain("canary \u007f\u009b31m\u202e");
});

test("restored counts first and marks with --yes; a time without its zone is refused", async () => {
  const shop = await openStuckShop();
  const since = new Date().toISOString();
  const counted = await shop.run("restored", "--since", since, "--json");
  expect([counted.code, counted.json]).toEqual([0, [{ since, dryRun: true, obligations: 1 }]]);
  expect((await shop.run("show", ...key, "--json")).json[0]).toMatchObject({ obligation: { reached: "no" } });
  const marked = await shop.run("restored", "--since", since, "--yes", "--json");
  expect([marked.code, marked.json]).toEqual([0, [{ since, dryRun: false, obligations: 1 }]]);
  expect((await shop.run("show", ...key, "--json")).json[0]).toMatchObject({ obligation: { reached: "maybe" } });
  const unclear = await shop.run("restored", "--since", "2026-11-30T04:00:00");
  expect([unclear.code, unclear.stderr]).toEqual([2, expect.stringContaining("a time with its zone")]);
});

test("doctor tells what is well, and ends with 2 for a secret, a configuration, and 3 for a database", async () => {
  const shop = await openShop();
  expect((await shop.run("migrate")).code).toBe(0);
  const well = await shop.run("doctor", "--json");
  expect(well.code, well.stdout).toBe(0);
  expect(well.json).toContainEqual({ level: "ok", subject: "secrets", says: "usable: stripe 1", mend: null });
  const unset = await counterfoil(["doctor"], { env: { ...shop.env, SHOP_SECRET: "changeme" } });
  expect([unset.code, unset.stdout]).toEqual([2, expect.stringMatching(/failure +secrets +.*it is a placeholder/)]);
  const misshapen = await counterfoil(["doctor", "--json"], { env: { ...shop.env, SHOP_REQUESTS_MS: "-1" } });
  expect([misshapen.code, misshapen.json]).toMatchObject([2, [{ level: "failure", subject: "configuration" }]]);
  const nowhere = await counterfoil(["doctor", "--json"], { env: { ...shop.env, SHOP_DATABASE: "/nowhere/shop.db" } });
  expect([nowhere.code, nowhere.json.at(-1)]).toMatchObject([
    3,
    { level: "failure", subject: "database", says: expect.stringContaining("Cannot open /nowhere/shop.db: SQLite") },
  ]);
});

test("what only looks or decides creates no database where the path is wrong; migrate does", async () => {
  const shop = await openShop();
  const mistyped = `${shop.env["SHOP_DATABASE"]}-mistyped`;
  const run = (...args: readonly string[]) => counterfoil(args, { env: { ...shop.env, SHOP_DATABASE: mistyped } });
  for (const args of [["status"], ["list", "attention"], ["show", "1"], ["apply", "1"], ["prune"]]) {
    expect(await run(...args)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`there is no file ${mistyped}; mend the path in the configuration, or create it`),
    });
  }
  expect((await run("doctor")).stdout).toMatch(/warning +database +there is no file .*-mistyped/);
  expect(existsSync(mistyped)).toBe(false);
  expect((await run("migrate")).code).toBe(0);
  expect((await run("status")).code).toBe(0);
});
