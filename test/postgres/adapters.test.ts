/** Every adapter, with its tool, on a real server: the published exercise, and once more through a pooler. */

import { exerciseAdapter } from "counterfoil/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { storeAt } from "../support/engine.ts";
import { pgBouncer, startPgBouncer } from "../support/pgbouncer.ts";
import { postgresDatabase } from "../support/postgres-database.ts";
import { postgresServer } from "../support/postgres.ts";
import { type OpenTool, type Tool, tools } from "../support/tools/tools.ts";

describe.each(tools)("a transaction of $name", (tool) => {
  exerciseTool(tool, async (url) => ({ url, [Symbol.asyncDispose]: async () => undefined }));
});

describe.skipIf(pgBouncer === undefined).each(tools)("through PgBouncer in transaction mode, one of $name", (tool) => {
  exerciseTool(tool, async (url) => {
    const bouncer = await startPgBouncer((await postgresServer()).url("postgres"));
    const name = new URL(url).pathname.slice(1);
    return { url: bouncer.url(name), [Symbol.asyncDispose]: () => bouncer[Symbol.asyncDispose]() };
  });
});

/** The exercise on one database, which the tool and the store reach by the same way. */
function exerciseTool(
  { open, known = {} }: Tool,
  way: (url: string) => Promise<AsyncDisposable & { readonly url: string }>,
): void {
  const stack = new AsyncDisposableStack();
  let url: string;
  let tool: OpenTool;
  beforeAll(async () => {
    const database = stack.use(await postgresDatabase());
    url = stack.use(await way(database.address)).url;
    tool = await open(url, { isPooled: url !== database.address });
    stack.defer(async () => void (await tool.close()));
  });
  afterAll(() => stack.disposeAsync());

  exerciseAdapter(test, async () => ({
    store: storeAt(url),
    transact: tool.transact,
    known,
    [Symbol.asyncDispose]: async () => undefined,
  }));
}
