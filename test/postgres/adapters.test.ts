/** Every adapter, with its tool, on a real server: the published exercise. */

import { exerciseAdapter } from "counterfoil/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { storeAt } from "../support/engine.ts";
import { postgresDatabase } from "../support/postgres-database.ts";
import type { TemporaryDatabase } from "../support/temporary-database.ts";
import { type OpenTool, tools } from "../support/tools/tools.ts";

describe.each(tools)("a transaction of $name", ({ open, known = {} }) => {
  let database: TemporaryDatabase;
  let tool: OpenTool;
  beforeAll(async () => {
    database = await postgresDatabase();
    tool = await open(database.address);
  });
  afterAll(async () => {
    await tool.close();
    await database[Symbol.asyncDispose]();
  });

  exerciseAdapter(test, async () => ({
    store: storeAt(database.address),
    transact: tool.transact,
    known,
    [Symbol.asyncDispose]: async () => undefined,
  }));
});
