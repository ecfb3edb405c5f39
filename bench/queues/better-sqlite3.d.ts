/** As much of better-sqlite3 as plainjob's connection needs; the package ships no types. */
declare module "better-sqlite3" {
  export class Database {
    constructor(path: string);
    readonly name: string;
  }
  export type Transaction<Callback> = Callback;
  export default Database;
}
