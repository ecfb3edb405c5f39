/** Your own tool's transaction, for `app.within`: one function for each tool, on PostgreSQL. None of the tools is loaded. */

export { type DrizzleTag, type DrizzleTransaction, fromDrizzle } from "./drizzle.ts";
export { fromKnex, type KnexTransaction } from "./knex.ts";
export { fromKysely, type KyselyTag, type KyselyTransaction } from "./kysely.ts";
export { fromPg, type PgClient } from "./pg.ts";
export { fromPostgresJs, type PostgresJsTransaction } from "./postgres-js.ts";
export { fromPrisma, type PrismaTransaction } from "./prisma.ts";
export { fromTypeorm, type TypeormTransaction } from "./typeorm.ts";
