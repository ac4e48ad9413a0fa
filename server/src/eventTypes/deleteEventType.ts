import type pg from "pg";
import type { Origin } from "../audit/origin.ts";
import { recordChange } from "../audit/recordChange.ts";
import { inTransaction } from "../postgres/pool.ts";
import { auditedColumns, type AuditedEventType, auditedOf, objectOf } from "./auditedEventType.ts";

/**
 * Takes a type out of the catalogue. Targets are left as they are: targets that name it go on getting such items.
 * @returns how many targets name it; undefined when the organization has no such type.
 */
export function deleteEventType(pool: pg.Pool, origin: Origin, name: string): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<AuditedEventType>({
      name: "delete_event_type",
      text: `delete from event_types t
             where t.org_id = $1
               and t.name = $2
             returning ${auditedColumns}`,
      values: [origin.orgId, name],
    });
    const removed = rows[0];
    if (removed === undefined) return undefined;
    await recordChange(client, origin, {
      action: "event_type.deleted",
      object: objectOf(removed),
      before: auditedOf(removed),
    });
    return countNaming(client, origin.orgId, name);
  });
}

async function countNaming(client: pg.ClientBase, orgId: string, name: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>({
    name: "count_targets_naming",
    text: `select count(*) as count
           from targets t
           where t.org_id = $1
             and $2 = any (t.event_types)`,
    values: [orgId, name],
  });
  return rows[0]!.count;
}
