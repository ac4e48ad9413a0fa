import type pg from "pg";
import { firstIdAt } from "../postgres/ids.ts";
import { dayMs } from "../postgres/partitions.ts";
import type { AuditRow, Queries } from "../postgres/tables.ts";
import { repeatWhileFull } from "../runtime/repeatWhileFull.ts";

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
export function forgetEntries(
  pool: pg.Pool,
  { retentionDays, nowMs }: { retentionDays: number; nowMs: number },
): Promise<number> {
  return repeatWhileFull(rowsPerStatement, async () => {
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
    return rowCount ?? 0;
  });
}
