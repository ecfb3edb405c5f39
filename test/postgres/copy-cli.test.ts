import { dirname } from "node:path";
import { expect, test } from "vitest";
import { commit } from "../../src/store/conformance/bundle.conformance.ts";
import { counterfoil } from "../cli/command.ts";
import { copySides } from "./copy-parts.ts";
import { fillStore } from "./rich-store.ts";

const rows = expect.objectContaining({ receipts: 56, obligations: 8, snapshots: 6 });

test(
  "copy is planned, made while the store is used, and ended, in text and in JSON",
  { timeout: 180_000 },
  async () => {
    const sides = await copySides();
    await fillStore(sides.file);
    const { pathname } = new URL(sides.url);
    const env = { DATABASE_URL: sides.url };
    const run = (...args: readonly string[]) => counterfoil(["copy", "--from", sides.path, ...args], { env });
    const to = expect.stringContaining(`database "${pathname.slice(1)}" on 127.0.0.1`);

    expect((await run("--dry-run", "--json")).json).toEqual([
      { dryRun: true, from: sides.path, to, rows, begun: false },
    ]);
    expect((await run("--dry-run")).stdout).toMatch(/^Would copy to database .*:\nreceipts +56\n/);
    const first = await run();
    expect(first.stdout).toMatch(
      /^Copied to .* and compared; the file goes on, and 0 of its things changed meanwhile\./,
    );
    expect(first.code).toBe(0);
    await commit(sides.file, (tx) => tx.pauseDestination("https://late.example", "refused"));
    expect((await run("--json")).json).toEqual([
      { from: sides.path, to, moved: false, rows, changed: 1, closedMs: null },
    ]);
    const final = await run("--final", "--json", "--who", "ann", "--why", "grown");
    expect(final.json).toEqual([{ from: sides.path, to, moved: true, rows, changed: 0, closedMs: expect.any(Number) }]);
    expect((await run("--final")).stdout).toMatch(/^Moved to database .*\. Point the configuration there\.\n/);
    const late = await counterfoil(["copy", "--abandon", "--from", sides.path]);
    expect(late).toMatchObject({ code: 3, stderr: expect.stringContaining("[STORE_MOVED]") });
    const printed = [first, final, late].map(({ stdout, stderr }) => stdout + stderr).join("");
    expect(printed).not.toContain(new URL(sides.url).password);
  },
);

test("a copy is given up, and whoever asks for what cannot be is told what to do", { timeout: 180_000 }, async () => {
  const sides = await copySides();
  const run = (...args: readonly string[]) =>
    counterfoil(["copy", ...args], { cwd: dirname(sides.path), env: { DATABASE_URL: "" } });
  expect(await run("--from", "none.db", "--to", sides.url)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/there is no such file.*\[NOT_FOUND\]/),
  });
  expect(await run("--from", sides.path)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no DATABASE_URL"),
  });
  expect(await run("--from", sides.path, "--to", sides.url, "--schema", "pg_x")).toMatchObject({ code: 2 });
  expect(await run("--from", sides.path, "--final", "--dry-run")).toMatchObject({ code: 2 });
  const dead = await run("--from", sides.path, "--to", "postgres://ann:secret@127.0.0.1:1/shop", "--json");
  expect(dead).toMatchObject({ code: 3 });
  expect(JSON.parse(dead.stderr)).toMatchObject({ error: "STORE_UNAVAILABLE" });
  expect(dead.stderr).not.toContain("secret");
  expect((await run("--from", sides.path, "--to", sides.url)).code).toBe(0);
  expect((await run("--from", sides.path, "--abandon", "--json")).json).toEqual([
    { from: sides.path, abandoned: true },
  ]);
  expect((await run("--from", sides.path, "--abandon")).stdout).toBe(
    "Nothing to do. No copy of this file was begun.\n",
  );
});
