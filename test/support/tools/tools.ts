/** The tools whose transactions Counterfoil works in, each as its users have it. */

import type { UserTransaction } from "counterfoil";
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  fromTypeorm,
} from "counterfoil/adapters";
import type { AdapterOddities } from "counterfoil/testing";
import { sql as drizzleSql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { drizzle as drizzleOnPostgresJs } from "drizzle-orm/postgres-js";
import createKnex from "knex";
import { CamelCasePlugin, Kysely, PostgresDialect, sql as kyselySql } from "kysely";
import { Pool } from "pg";
import postgres from "postgres";
import { DataSource } from "typeorm";
import { prismaClient } from "./prisma-client.ts";

export interface OpenTool {
  /** In a transaction of the tool's: commits when the body resolves, rolls back when it rejects. */
  readonly transact: <T>(body: (transaction: UserTransaction) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<unknown>;
}

export interface ToolOptions {
  /** A pooler in between gives each transaction another connection. */
  readonly isPooled?: boolean;
}

export interface Tool {
  readonly name: string;
  readonly open: (url: string, options?: ToolOptions) => Promise<OpenTool>;
  readonly known?: AdapterOddities;
}

export const tools: readonly Tool[] = [
  { name: "pg", open: openPg },
  { name: "postgres.js", open: openPostgresJs, known: { failureEndsTransaction: true } },
  { name: "Drizzle on pg", open: openDrizzle },
  { name: "Drizzle on postgres.js", open: openDrizzleOnPostgresJs, known: { failureEndsTransaction: true } },
  { name: "Kysely", open: openKysely, known: { bigintIsText: true } },
  { name: "Knex", open: openKnex },
  { name: "Prisma", open: openPrisma },
  { name: "TypeORM", open: openTypeorm },
];

function poolAt(url: string): Pool {
  const pool = new Pool({ connectionString: url });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

async function openPg(url: string): Promise<OpenTool> {
  const pool = poolAt(url);
  return {
    transact: async (body) => {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const value = await body(fromPg(client));
        await client.query("COMMIT");
        return value;
      } catch (error) {
        await client.query("ROLLBACK");
        throw error;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

/** Statements prepared on another connection are tried again by postgres.js, COMMIT too, in what has failed by then. */
function postgresJs(url: string, { isPooled = false }: ToolOptions): ReturnType<typeof postgres> {
  return postgres(url, { onnotice: () => undefined, prepare: !isPooled });
}

async function openPostgresJs(url: string, options: ToolOptions = {}): Promise<OpenTool> {
  const sql = postgresJs(url, options);
  return {
    transact: <T>(body: (transaction: UserTransaction) => Promise<T>) =>
      sql.begin((tx) => body(fromPostgresJs(tx))) as Promise<T>,
    close: () => sql.end(),
  };
}

async function openDrizzle(url: string): Promise<OpenTool> {
  const pool = poolAt(url);
  const db = drizzle(pool);
  return { transact: (body) => db.transaction((tx) => body(fromDrizzle(tx, drizzleSql))), close: () => pool.end() };
}

async function openDrizzleOnPostgresJs(url: string, options: ToolOptions = {}): Promise<OpenTool> {
  const client = postgresJs(url, options);
  const db = drizzleOnPostgresJs(client);
  return { transact: (body) => db.transaction((tx) => body(fromDrizzle(tx, drizzleSql))), close: () => client.end() };
}

/** With the plugin that renames every column: what goes through Counterfoil is not to be renamed. */
async function openKysely(url: string): Promise<OpenTool> {
  const dialect = new PostgresDialect({ pool: poolAt(url) });
  const db = new Kysely<unknown>({ dialect, plugins: [new CamelCasePlugin()] });
  return {
    transact: (body) => db.transaction().execute((trx) => body(fromKysely(trx, kyselySql))),
    close: () => db.destroy(),
  };
}

async function openKnex(url: string): Promise<OpenTool> {
  // Else it tells of each connection that a test ends.
  const log = { error: () => undefined, warn: () => undefined };
  const knex = createKnex({ client: "pg", connection: url, log });
  return { transact: (body) => knex.transaction((trx) => body(fromKnex(trx))), close: () => knex.destroy() };
}

async function openPrisma(url: string): Promise<OpenTool> {
  const prisma = prismaClient(url);
  return {
    transact: (body) => prisma.$transaction((tx) => body(fromPrisma(tx)), { timeout: 60_000, maxWait: 60_000 }),
    close: () => prisma.$disconnect(),
  };
}

async function openTypeorm(url: string): Promise<OpenTool> {
  const source = new DataSource({ type: "postgres", url });
  await source.initialize();
  return {
    transact: (body) => source.transaction((manager) => body(fromTypeorm(manager))),
    close: () => source.destroy(),
  };
}
