/** `counterfoil/sqlite`: the embedded engine. */
export { sqlite, type SqliteOptions } from "./sqlite.ts";
