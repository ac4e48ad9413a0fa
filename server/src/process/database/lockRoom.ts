import type { Config } from "../../config/config.ts";
import { dailyTables } from "../../postgres/partitions.ts";

/** Relations of one day in one cell, each with a lock of its own: partitions, their indexes and their TOAST tables. */
export const relationsPerDay = 47;
/** Days that have partitions although they are not within retention: a week ahead, today, and some that are to be dropped. */
const otherDays = 10;
/** `max_connections` of the embedded server at least. PostgreSQL has as many times `max_locks_per_transaction` for all sessions. */
const leastConnections = 60;
/** PostgreSQL's own default, which is enough for 30 days. */
const leastLocks = 64;

/**
 * The setting of the embedded server for locks. A restore locks all relations in one transaction, and so do some lists most of them,
 * several at a time: there is room for twice as many.
 * @param partitions of a backup that is to be restored, which may have more days than are kept here.
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
