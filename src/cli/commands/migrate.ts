import type { Command } from "commander";
import type { Store } from "../../store/store.ts";
import { baseCommand, type SharedOptions } from "../base-command.ts";
import { errorCodeOf } from "../exit-codes.ts";
import { loadApp } from "../load-app.ts";
import { printResult } from "../output.ts";

export function migrateCommand(): Command {
  return baseCommand({
    name: "migrate",
    summary: "Bring the database's schema up to date",
    details: "Harmless when there is nothing to do, and when several do it at once.",
    examples: ["migrate", "migrate --config shop/counterfoil.config.ts --json"],
  }).action(async (options: SharedOptions) => {
    const { runtime } = await loadApp(options.config);
    const migrations = await migrate(runtime.store);
    printResult(options, { migrations }, () =>
      migrations.length === 0 ? "The schema is up to date." : `Ran ${migrations.join(", ")}.`,
    );
  });
}

async function migrate(store: Store): Promise<readonly string[]> {
  try {
    await store.open().catch((error: unknown) => {
      if (errorCodeOf(error) !== "SCHEMA_OUTDATED") throw error;
    });
    return await store.migrate();
  } finally {
    await store.close();
  }
}
