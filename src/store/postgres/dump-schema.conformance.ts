import { ask } from "../../../test/support/postgres-query.ts";

const columns = `SELECT c.relname AS table, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
     || CASE WHEN col.collname IS NOT NULL AND col.collname <> 'default' THEN ' COLLATE "' || col.collname || '"' ELSE '' END
     || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
     || CASE a.attidentity WHEN 'a' THEN ' IDENTITY' ELSE '' END
     || CASE WHEN a.attgenerated = 's' THEN ' GENERATED ' || pg_get_expr(d.adbin, d.adrelid)
             WHEN d.adbin IS NOT NULL THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) ELSE '' END AS line
   FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
   LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   LEFT JOIN pg_collation AS col ON col.oid = a.attcollation
   WHERE c.relnamespace = 'counterfoil'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
   ORDER BY c.relname, a.attnum`;

const indexes =
  "SELECT tablename AS table, indexdef AS line FROM pg_indexes WHERE schemaname = 'counterfoil' ORDER BY indexname";

const options = `SELECT relname AS table, 'WITH (' || array_to_string(reloptions, ', ') || ')' AS line FROM pg_class
   WHERE relnamespace = 'counterfoil'::regnamespace AND reloptions IS NOT NULL ORDER BY relname`;

interface Line {
  readonly table: string;
  readonly line: string;
}

/** What the catalogue says of the engine's tables: columns, indexes and settings, as text to compare. */
export async function dumpSchema(url: string): Promise<string> {
  const parts = [await ask<Line>(url, columns), await ask<Line>(url, indexes), await ask<Line>(url, options)];
  const tables = new Set((parts[0] ?? []).map(({ table }) => table));
  const blocks = [...tables].map((name) => {
    const lines = parts.flatMap((part) => part.filter(({ table }) => table === name).map(({ line }) => `  ${line}`));
    return [name, ...lines].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}
