/** The soak's application before anybody serves it: its database, and the providers that it calls. */
import { type FakeProvider, startFakeProvider } from "counterfoil/testing";
import { type Books, Ledger } from "./books.ts";
import { type Environment, Member, runCommand } from "./fleet.ts";
import { secret } from "./senders.ts";

export interface Shop extends AsyncDisposable {
  readonly ledger: Ledger;
  /** One that keeps its idempotency contract, and one that knows no keys. */
  readonly carrier: FakeProvider;
  readonly courier: FakeProvider;
  /** Starts a process that serves it; it ends with the shop. */
  readonly serve: (role: Member["role"], environment?: Environment) => Member;
}

/** Migrates the database by the command line and makes the application's own tables. */
export async function openShop(books: Books): Promise<Shop> {
  const [carrier, courier] = [await startFakeProvider(), await startFakeProvider({ contract: "ignores" })];
  const common = {
    SOAK_DATABASE: books.address,
    SOAK_SECRET: secret,
    SOAK_CARRIER: carrier.url,
    SOAK_COURIER: courier.url,
  };
  await runCommand(common, "migrate");
  const ledger = new Ledger(books);
  await ledger.createTables();
  const members: Member[] = [];
  return {
    ledger,
    carrier,
    courier,
    serve: (role, environment = {}) => {
      const member = new Member(role, { ...common, ...environment });
      members.push(member);
      return member;
    },
    [Symbol.asyncDispose]: async () => {
      for (const member of members) member.destroy();
      await Promise.all([carrier.close(), courier.close()]);
    },
  };
}
