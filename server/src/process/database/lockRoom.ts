import type { Config } from "../../config/config.ts";
import { dailyTables } from "../../postgres/partitions.ts";

/** Relations of one day in one cell, each with a lock of its own: partitions, their indexes and their TOAST tables. */
export const relationsPerDay = 47;
/** Days outside the retention that have partitions: a week ahead, today, and some that are yet to be dropped. */
const otherDays = 10;
/** Minimum `max_connections` of the embedded server. All sessions share this many times `max_locks_per_transaction` locks. */
const leastConnections = 60;
/** PostgreSQL's own default, which is enough for 30 days. */
const leastLocks = 64;

/**
 * The embedded server's setting for locks. A restore locks all relations in one transaction, and some lists, which may run at the
 * same time, lock most of them: the setting allows twice the number of relations.
 * @param partitions number of partitions of the backup to restore, which may have more days than the retention here.
 */
export function lockSettings(
  { retentionDays, cells }: Pick<Config, "retentionDays" | "cells">,
  partitions = 0,
): { max_locks_per_transaction: string } {
  const kept = (retentionDays + otherDays) * Number(cells);
  const days = Math.max(kept, Math.ceil(partitions / dailyTables.length));
  const locks = Math.ceil((2 * days * relationsPerDay) / leastConnections);
  return { max_locks_per_transaction: String(Math.max(leastLocks, locks)) };
}
