import { Client } from "pg";

/** What is kept of a finished obligation, and the column that names it. */
const tables = { obligations: "id", requests: "obligation_id", attempts: "obligation_id", answers: "obligation_id" };

/** Copies in one statement, which is one transaction. */
const batchSize = 100_000;

/**
 * Fills a database up to so many finished obligations by copying one that the engine has finished, with
 * its request, attempt and answer; what is there already counts. Then analyses it, as autovacuum would soon do.
 */
export async function fillHistory(url: string, count: number): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ original: string; last: string }>(
      "SELECT min(id) AS original, max(id) AS last FROM counterfoil.obligations WHERE state = 'done'",
    );
    const original = Number(rows[0]?.original);
    const copies = [];
    for (const [table, key] of Object.entries(tables)) copies.push(await copyStatement(client, table, key));
    for (let from = Number(rows[0]?.last); from < count; from += batchSize) {
      const to = Math.min(count, from + batchSize);
      for (const copy of copies) await client.query(copy, [original, from + 1, to]);
      await client.query("SELECT setval(pg_get_serial_sequence('counterfoil.obligations', 'id'), $1)", [to]);
    }
    await client.query("VACUUM ANALYZE");
  } finally {
    await client.end();
  }
}

/** `$1` is the obligation to copy, `$2` and `$3` are the first and the last id of the copies. */
async function copyStatement(client: Client, table: string, key: string): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns
     WHERE table_schema = 'counterfoil' AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position`,
    [table],
  );
  const value = (name: string): string => {
    if (name === key) return "n";
    return name === "operation_key" ? "'history-' || n" : `t."${name}"`;
  };
  const names = rows.map(({ name }) => name);
  return `INSERT INTO counterfoil.${table} (${names.map((name) => `"${name}"`).join(", ")}) OVERRIDING SYSTEM VALUE
    SELECT ${names.map(value).join(", ")}
    FROM counterfoil.${table} AS t CROSS JOIN generate_series($2::bigint, $3::bigint) AS n WHERE t.${key} = $1`;
}
