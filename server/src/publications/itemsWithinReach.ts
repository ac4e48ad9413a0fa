import { sql } from "kysely";
import type { StoredEvent } from "../events/store.ts";
import type { Queries } from "../postgres/tables.ts";

/**
 * The items of a publication within the reach of a caller who is limited to a customer: those whose target is that
 * customer's now, whoever's it was when it was published. All of them for a caller who is not limited.
 */
export async function itemsWithinReach(
  queries: Queries,
  events: readonly StoredEvent[],
  customerUid: string | undefined,
): Promise<readonly StoredEvent[]> {
  if (customerUid === undefined || events.length === 0) return events;
  const { rows } = await sql<{ id: string }>`
    select t.id
    from targets t
    where t.id = any (${events.map(({ targetId }) => targetId)}::uuid[])
      and t.customer_uid = ${customerUid}
  `.execute(queries);
  const own = new Set(rows.map(({ id }) => id));
  return events.filter(({ targetId }) => own.has(targetId));
}
