/** `counterfoil/postgres`: the engine for many machines. */
export { postgres, type PostgresOptions } from "./postgres.ts";
