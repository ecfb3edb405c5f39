/** Every contender of the dispatch bench on PostgreSQL drains what it is given, and says so as the bench reads it. */
import { expect, test } from "vitest";
import { dispatchContenders, dispatchScript } from "../../bench/dispatch.ts";
import { startChild } from "../../bench/kit/child.ts";
import { postgresServer } from "../support/postgres.ts";

test.for(dispatchContenders("postgres"))("%s drains its jobs to the last one", { timeout: 120_000 }, async (name) => {
  const { createDatabase } = await postgresServer();
  await using database = await createDatabase();
  const queue = startChild(dispatchScript("postgres", name), { args: [database.url, "400"] });
  try {
    await queue.line(/^ready$/, { timeoutMs: 60_000 });
    const [line] = await queue.line(/^\{.*\}$/, { timeoutMs: 60_000 });
    const positive = expect.toSatisfy((value: number) => value > 0);
    expect(JSON.parse(line)).toEqual({ perSecond: positive, p50Ms: positive, p99Ms: positive });
  } finally {
    await queue.end();
  }
});
