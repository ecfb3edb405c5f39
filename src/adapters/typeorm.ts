import { CounterfoilError } from "../domain/errors.ts";
import type { UserTransaction } from "../domain/user-transaction.ts";
import { fromPg, type PgClient } from "./pg.ts";

/** What is used of the `manager` that TypeORM hands to `dataSource.transaction`, on `pg`. */
export interface TypeormTransaction {
  readonly queryRunner?:
    | { readonly isTransactionActive: boolean; connect(): Promise<PgClient> }
    | { readonly isTransactionActive: boolean; connect(): Promise<unknown> }
    | undefined;
}

/**
 * A transaction of TypeORM on `pg`: the `manager` of its callback, or a query runner's.
 *
 * @example
 * ```ts no-run
 * await dataSource.transaction(async (manager) => {
 *   await app.within(fromTypeorm(manager)).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1042"));
 * });
 * ```
 */
export function fromTypeorm({ queryRunner }: TypeormTransaction): UserTransaction {
  return {
    handle: queryRunner ?? {},
    query: async (statement) => {
      // One that is not in a transaction would take a connection of the pool here, and not give it back.
      if (!queryRunner?.isTransactionActive) {
        throw new CounterfoilError("TRANSACTION_CLOSED", "Cannot work in a transaction of TypeORM: none is open");
      }
      return fromPg((await queryRunner.connect()) as PgClient).query(statement);
    },
  };
}
