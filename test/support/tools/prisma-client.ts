/**
 * Prisma's client without `prisma generate`: the command asks a server of Prisma's for an engine before it
 * writes what stands here, and a schema without models is all that raw queries need. Run time, query
 * compiler and driver adapter are the packages' own.
 */
import { PrismaPg } from "@prisma/adapter-pg";
import { getPrismaClient } from "@prisma/client/runtime/client";

const inlineSchema = `generator client {
  provider = "prisma-client"
  output   = "./client"
}
datasource db {
  provider = "postgresql"
}`;

const compiler = "@prisma/client/runtime/query_compiler_fast_bg.postgresql";

const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: { readonly Module: new (code: Buffer) => object };
};

/** What is used of the client. */
export interface PrismaClient {
  $transaction<T>(
    body: (tx: PrismaTransaction) => Promise<T>,
    options: { readonly timeout: number; readonly maxWait: number },
  ): Promise<T>;
  $disconnect(): Promise<void>;
}

export interface PrismaTransaction {
  $queryRawUnsafe<T = unknown>(text: string, ...values: unknown[]): PromiseLike<T>;
  $executeRawUnsafe(text: string, ...values: unknown[]): PromiseLike<number>;
}

export function prismaClient(url: string): PrismaClient {
  const Client = getPrismaClient({
    previewFeatures: [],
    clientVersion: "7.10.0",
    engineVersion: "none",
    activeProvider: "postgresql",
    inlineSchema,
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: "AAAA" },
    compilerWasm: {
      getRuntime: () => import(`${compiler}.mjs`),
      getQueryCompilerWasmModule: async () => {
        const { wasm } = (await import(`${compiler}.wasm-base64.mjs`)) as { readonly wasm: string };
        return new WebAssembly.Module(Buffer.from(wasm, "base64"));
      },
      importName: "./query_compiler_fast_bg.js",
    },
  } as never);
  const adapter = new PrismaPg({ connectionString: url });
  return new Client({ adapter });
}
