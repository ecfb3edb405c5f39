import type { Store } from "counterfoil";
import { postgres } from "counterfoil/postgres";
import { sqlite } from "counterfoil/sqlite";

/** What `SHOP_STORE` names, a PostgreSQL URL; else a SQLite file. Nothing else of the shop knows which. */
export function shopStore(file: string): Store {
  const { SHOP_STORE = "sqlite" } = process.env;
  return SHOP_STORE === "sqlite" ? sqlite(file) : postgres(SHOP_STORE);
}
