import type pg from "pg";

/** Counts the rows that each statement deletes from a table from now on. @returns a function that reads the largest count. */
export async function largestDeletion(pool: pg.Pool, table: string): Promise<() => Promise<number>> {
  await pool.query(`
    create table deletions (rows integer not null);
    create function note_deletion() returns trigger language plpgsql as $$
    begin
      insert into deletions select count(*) from gone;
      return null;
    end
    $$;
    create trigger note_deletion after delete on ${table} referencing old table as gone
      for each statement execute function note_deletion()`);
  return async () => {
    const { rows } = await pool.query<{ rows: number }>("select max(rows) as rows from deletions");
    return rows[0]!.rows;
  };
}
