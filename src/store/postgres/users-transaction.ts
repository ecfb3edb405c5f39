import { Misuse } from "../../domain/misuse.ts";
import { PostgresTransaction } from "./transaction.ts";

/** A user's transaction: its tool alone has the connection. */
export class UsersTransaction extends PostgresTransaction {
  override get native(): never {
    throw new Misuse(
      "Cannot give tx.native in a transaction of your own: it is the engine's connection; use your tool, or tx.sql",
    );
  }
}
