import type pg from "pg";
import { firstIdAt } from "./ids.ts";

/** Milliseconds of a UTC day. */
export const dayMs = 86_400_000;

/** Tables partitioned by a UUIDv7, whose days are ranges of ids. */
export const tablesById = ["events", "attempts", "settlements", "closed_messages", "handoffs"] as const;
/** How many days ahead partitions exist, so that an insert never fails for want of one. */
const daysAhead = 7;

/**
 * Creates the daily partitions from yesterday to a week ahead that do not exist yet. Safe to run from many
 * processes at once. @returns how many were created.
 */
export async function ensurePartitions(pool: pg.Pool | pg.PoolClient, nowMs: number): Promise<number> {
  const today = Math.floor(nowMs / dayMs);
  const { rows } = await pool.query<{ relname: string }>(
    `select c.relname
     from pg_inherits i
     join pg_class c on c.oid = i.inhrelid
     where i.inhparent = any ($1::regclass[])`,
    [[...tablesById, "idempotency_keys"]],
  );
  const existing = new Set(rows.map((row) => row.relname));
  let created = 0;
  for (let day = today - 1; day <= today + daysAhead; day++) {
    for (const table of [...tablesById, "idempotency_keys"]) {
      const name = `${table}_${dayName(day)}`;
      if (existing.has(name)) continue;
      const [from, to] =
        table === "idempotency_keys"
          ? [String(day), String(day + 1)]
          : [`'${firstIdAt(day * dayMs)}'`, `'${firstIdAt((day + 1) * dayMs)}'`];
      await pool.query(
        `create table if not exists ${name} partition of ${table} for values from (${from}) to (${to})`,
      );
      created++;
    }
  }
  return created;
}

/** The part of a partition's name that says its day: `20261121`. */
export function dayName(day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10).replaceAll("-", "");
}
