/** Working in a transaction that the user has begun and will end. */
import { CounterfoilError, hasCode } from "../../domain/errors.ts";
import { Misuse } from "../../domain/misuse.ts";
import type { UserTransaction } from "../../domain/user-transaction.ts";
import { busyError } from "../users-errors.ts";
import { UserSession, type UserSessionOptions } from "./user-session.ts";

/** Transactions that are worked in just now, by their handles. */
const busy: WeakSet<object> = new WeakSet();

/** Runs a body behind a savepoint: kept with what the user commits, or undone where it rejects. */
export async function withinUsers<T>(
  given: unknown,
  options: UserSessionOptions,
  run: (session: UserSession, serverMs: number) => Promise<T>,
): Promise<T> {
  const transaction = asUserTransaction(given);
  const { handle } = transaction;
  if (busy.has(handle)) throw busyError();
  busy.add(handle);
  const session = new UserSession(transaction, options);
  try {
    const value = await run(session, await session.begin());
    await session.end();
    return value;
  } catch (error) {
    await session.rollBack();
    throw hasCode(error, "RACE_LOST") ? raceLost(error) : error;
  } finally {
    busy.delete(handle);
  }
}

function asUserTransaction(given: unknown): UserTransaction {
  const { handle, query } = (given ?? {}) as Partial<UserTransaction>;
  if (typeof query === "function" && handle !== null && /^(?:object|function)$/.test(typeof handle)) {
    return given as UserTransaction;
  }
  throw new Misuse("Cannot work in your transaction: hand over what an adapter makes of it, such as fromPg(client)");
}

/** What was read before the race was lost is of another time: nothing of the transaction can be kept. */
function raceLost(cause: CounterfoilError): CounterfoilError {
  return new CounterfoilError(
    "RACE_LOST",
    "Cannot go on in your transaction: it lost a race with another one; roll it back and run it again from its start",
    { cause },
  );
}
