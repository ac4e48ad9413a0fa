import { type RawBuilder, sql } from "kysely";
import type { Static } from "typebox";
import type pg from "pg";
import { firstPublicationId } from "../customers/store.ts";
import { listedAnswer } from "../events/answers.ts";
import { inSnapshot } from "../events/listEvents.ts";
import { readProgress } from "../events/progress.ts";
import { optionalFieldNames } from "../events/schemas.ts";
import { type EventScope, readEvents, type StoredEvent } from "../events/store.ts";
import { readHandoffs } from "../handoff/record/handoffAnswer.ts";
import { latestReplays } from "../events/replaysOf.ts";
import { type PageRange, readFirstDays } from "../postgres/firstDays.ts";
import { bucketOf, idTimeMs } from "../postgres/ids.ts";
import type { Queries } from "../postgres/tables.ts";
import type { Publication, PublicationQuery, PublicationSummary } from "./schemas.ts";

interface PublicationRow extends Omit<PublicationSummary, "item_count" | "created_at"> {
  event_ids: string[];
}

/** The filter of a list of publications. */
interface PublicationFilter extends Static<typeof PublicationQuery> {
  /** Only publications to the present customer with the uid; none to a deleted customer that had the same uid. */
  isOfPresentCustomer?: boolean;
}

const columns = "p.id, p.customer_uid, p.event_type, p.correlation_id, p.event_ids";

/** An organization's publications, newest first, without their items. */
export async function listPublications(
  queries: Queries,
  orgId: string,
  query: PublicationFilter,
): Promise<PublicationSummary[]> {
  const range = { ...query, below: query.before, order: "desc" } as const;
  const rows = await inSnapshot(queries, (snapshot) =>
    readFirstDays(range, async (days) => (await publicationPage(orgId, days).execute(snapshot)).rows),
  );
  return rows.map(summaryOf);
}

/** The statement that finds a page. It is not prepared: a cached plan would be based on partitions that were still empty. */
export function publicationPage(
  orgId: string,
  {
    limit,
    above,
    below,
    customer_uid: customerUid,
    isOfPresentCustomer = false,
  }: Omit<PageRange, "order"> & Pick<PublicationFilter, "customer_uid" | "isOfPresentCustomer">,
): RawBuilder<PublicationRow> {
  return sql<PublicationRow>`
    select ${sql.raw(columns)}
    from publications p
    where p.org_id = ${orgId}
      ${above === undefined ? sql`` : sql`and p.id > ${above}`}
      ${below === undefined ? sql`` : sql`and p.id < ${below}`}
      ${customerUid === undefined ? sql`` : sql`and p.customer_uid = ${customerUid}`}
      ${isOfPresentCustomer ? sql`and p.id >= (${firstOfPresent(orgId, customerUid!)})` : sql``}
    order by p.id desc
    limit ${limit}
  `;
}

function firstOfPresent(orgId: string, customerUid: string): RawBuilder<unknown> {
  return sql`
    select ${sql.raw(firstPublicationId)}
    from customers c
    where c.org_id = ${orgId}
      and c.uid = ${customerUid}
  `;
}

/** A publication with the state of each item that the caller may see; undefined when the organization has no such publication. */
export async function readPublication(
  { pool, queries }: { pool: pg.Pool; queries: Queries },
  scope: EventScope,
  { id, customerUid }: { id: string; customerUid: string | undefined },
): Promise<Static<typeof Publication> | undefined> {
  const { rows } = await pool.query<PublicationRow>({
    name: "read_publication",
    text: `select ${columns}
           from publications p
           where p.bucket = $1
             and p.id = $2
             and p.org_id = $3`,
    values: [bucketOf(id), id, scope.orgId],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  const fields = new Set(optionalFieldNames);
  return inSnapshot(queries, async (snapshot) => {
    const stored = await readEvents(snapshot, scope, row.event_ids);
    const events = await itemsWithinReach(snapshot, stored, customerUid);
    const progress = await readProgress(snapshot, events);
    const ids = events.map((event) => event.id);
    const replays = await latestReplays(snapshot, scope, ids);
    const handoffs = await readHandoffs(snapshot, scope.orgId, events);
    const items = events.map((event) => {
      const copy = replays.get(event.id);
      return Object.assign(listedAnswer(event, { progress, replays, handoffs }, fields), {
        latest_replay: copy === undefined ? null : { id: copy.id, status: copy.status },
      });
    });
    return { ...summaryOf(row), items };
  });
}

function summaryOf({ event_ids: eventIds, ...row }: PublicationRow): PublicationSummary {
  return { ...row, item_count: eventIds.length, created_at: Math.floor(idTimeMs(row.id) / 1000) };
}

/**
 * The items of a publication that the caller may see. A caller limited to a customer sees items whose target belongs to that
 * customer now, even if it belonged to another customer at the time of publishing. A caller without limit sees all items.
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
