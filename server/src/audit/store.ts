import type pg from "pg";
import { firstIdAt } from "../postgres/ids.ts";
import { dayMs } from "../postgres/partitions.ts";
import type { AuditRow, Queries } from "../postgres/tables.ts";

export interface EntryFilter {
  orgId: string;
  action?: string | undefined;
  actorId?: string | undefined;
  objectId?: string | undefined;
  /** Only entries with ids between `above` and `below`, both excluded. */
  above?: string | undefined;
  below?: string | undefined;
  limit: number;
}

/** An organization's entries, newest first. */
export async function listEntries(queries: Queries, filter: EntryFilter): Promise<AuditRow[]> {
  const { action, actorId, objectId, above, below } = filter;
  return queries
    .selectFrom("audit_log")
    .selectAll()
    .where("org_id", "=", filter.orgId)
    .$if(action !== undefined, (query) => query.where("action", "=", action!))
    .$if(actorId !== undefined, (query) => query.where("actor_id", "=", actorId!))
    .$if(objectId !== undefined, (query) => query.where("object_id", "=", objectId!))
    .$if(above !== undefined, (query) => query.where("id", ">", above!))
    .$if(below !== undefined, (query) => query.where("id", "<", below!))
    .orderBy("id", "desc")
    .limit(filter.limit)
    .execute();
}

const rowsPerStatement = 5_000;

/** Deletes entries past retention. @returns the number of deleted entries. */
export async function forgetEntries(
  pool: pg.Pool,
  { retentionDays, nowMs }: { retentionDays: number; nowMs: number },
): Promise<number> {
  let total = 0;
  for (;;) {
    const { rowCount } = await pool.query(
      `delete from audit_log
       where id = any (array(
         select id
         from audit_log
         where id < $1
         order by id
         limit $2
       ))`,
      [firstIdAt(nowMs - retentionDays * dayMs), rowsPerStatement],
    );
    total += rowCount ?? 0;
    if ((rowCount ?? 0) < rowsPerStatement) return total;
  }
}
