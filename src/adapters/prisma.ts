import type { UserTransaction } from "../domain/user-transaction.ts";

/** What is used of the `tx` that `prisma.$transaction` hands to its callback. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
  $executeRawUnsafe(text: string, ...values: unknown[]): PromiseLike<number>;
}

/**
 * An interactive transaction of Prisma: the `tx` of its callback.
 *
 * @example
 * ```ts no-run
 * await prisma.$transaction(async (tx) => {
 *   await app.within(fromPrisma(tx)).run({ tenant: "acme" }, ({ arrived }) => arrived("order", "1042"));
 * });
 * ```
 */
export function fromPrisma(tx: PrismaTransaction): UserTransaction {
  return {
    handle: tx,
    query: async ({ text, values, returnsRows }) => {
      if (!returnsRows) return { rows: [], changes: await tx.$executeRawUnsafe(text, ...values) };
      return { rows: (await tx.$queryRawUnsafe(text, ...values)) as Record<string, unknown>[], changes: 0 };
    },
    sqlState,
  };
}

interface PrismaError {
  readonly meta?: { readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: string } } };
}

/** Prisma has codes of its own; the server's stands where the driver's failure is described. */
function sqlState(error: unknown): string | undefined {
  return (error as PrismaError | null)?.meta?.driverAdapterError?.cause?.originalCode;
}
