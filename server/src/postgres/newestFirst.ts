import type pg from "pg";

/** The requested part of a list. */
export interface NewestFirst {
  /** Only rows with ids below this one; undefined for the newest rows. */
  before?: string | undefined;
  /** Maximum number of rows. */
  limit: number;
}

/**
 * An organization's rows of a table with `org_id` and `id`, newest first.
 * @param statement The prepared statement's name, and its select from the table.
 */
export async function newestFirst<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: { name: string; select: string },
  orgId: string,
  { before, limit }: NewestFirst,
): Promise<Row[]> {
  const { rows } = await pool.query<Row>({
    name: statement.name,
    text: `${statement.select}
           where org_id = $1
             and id < coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
           order by id desc
           limit $3`,
    values: [orgId, before, limit],
  });
  return rows;
}
