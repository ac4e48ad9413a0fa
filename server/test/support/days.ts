import type pg from "pg";
import { dayMs, dayName } from "../../src/postgres/partitions.ts";

/* Daily partitions of tables. */

/** Number of a table's daily partitions before a time. */
export async function countDaysBefore(pool: pg.Pool, table: string, ms: number): Promise<number> {
  const first = `${table}_${dayName(Math.floor(ms / dayMs))}`;
  return (await daysOf(pool, table)).filter((name) => name < first).length;
}

/** Drops all daily partitions of a table. @returns their number. */
export async function dropDays(pool: pg.Pool, table: string): Promise<number> {
  const days = await daysOf(pool, table);
  await pool.query(`drop table ${days.join(", ")}`);
  return days.length;
}

/** Drops the last daily partition that a table has in advance. */
export async function dropLastDay(pool: pg.Pool, table: string): Promise<void> {
  const day = dayName(Math.floor(Date.now() / dayMs) + 7);
  await pool.query(`drop table ${table}_${day}`);
}

async function daysOf(pool: pg.Pool, table: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass",
    [table],
  );
  return rows.map(({ name }) => name);
}
