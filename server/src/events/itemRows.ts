import { type RawBuilder, sql } from "kysely";
import { lastIdOfSlot } from "../postgres/ids.ts";
import { type EventFilter, inRange, ordered, reach } from "./eventFilter.ts";

/** Rows `d` that name items each (`event_ids`), and the index that has them by the last of these. */
export interface ItemRows {
  table: RawBuilder<unknown>;
  condition: RawBuilder<unknown>;
  lastItem: RawBuilder<unknown>;
}

/**
 * The items of the rows that a page can need, in order. Rows of one slot overlap, those of different slots do not, and
 * their index has them by their last items.
 */
export function firstItems(filter: EventFilter, rows: ItemRows): RawBuilder<unknown> {
  const chosen =
    filter.order === "desc"
      ? sql`${newestRows(filter, rows)} ${rowsAround(filter, rows)}`
      : oldestRows(filter, rows);
  return sql`
    select i.id
    from (${chosen}) d
    cross join unnest(d.event_ids) as i (id)
    where true
      ${inRange(filter, sql`i.id`)}
    ${ordered(filter, sql`i.id`)}
    limit ${reach(filter)}
  `;
}

/**
 * The rows with the newest items. Once the rows of some slots hold a page, the next slot has nothing for it. As many
 * rows as the page has items are enough in any case.
 */
function newestRows(filter: EventFilter, { table, condition, lastItem }: ItemRows): RawBuilder<unknown> {
  const count = reach(filter);
  return sql`
    select r.event_ids
    from (
      select
        n.event_ids,
        sum(cardinality(n.event_ids)) over (
          order by slot_of(n.event_ids[1]) desc
          groups between unbounded preceding and 1 preceding
        ) as newer
      from (
        select d.event_ids
        from ${table}
        where ${condition}
          ${inRange(filter, lastItem)}
        order by ${lastItem} desc
        limit ${count}
      ) n
    ) r
    where coalesce(r.newer, 0) < ${count}
  `;
}

/** Rows that straddle the range's end: some of their items are below it. All of them are of the slot of that end. */
function rowsAround({ below }: EventFilter, { table, condition, lastItem }: ItemRows): RawBuilder<unknown> {
  if (below === undefined) return sql``;
  return sql`
    union all
    select d.event_ids
    from ${table}
    where ${condition}
      and ${lastItem} >= ${below}
      and ${lastItem} <= ${lastIdOfSlot(below)}
      and d.event_ids[1] < ${below}
  `;
}

/** The rows with the oldest items: as many as the page has items, and the others of the last one's slot. */
function oldestRows(filter: EventFilter, { table, condition, lastItem }: ItemRows): RawBuilder<unknown> {
  const range = {
    ...filter,
    // A row whose last item is above the range may have its first items within it.
    below: filter.below === undefined ? undefined : lastIdOfSlot(filter.below),
  };
  return sql`
    select d.event_ids
    from ${table}
    where ${condition}
      ${inRange(range, lastItem)}
      and ${lastItem} < coalesce(
        (
          select first_id_at((slot_of(n.last_item) + 1) * 1024)
          from (
            select ${lastItem} as last_item
            from ${table}
            where ${condition}
              ${inRange(range, lastItem)}
            order by ${lastItem}
            limit 1
            offset ${reach(filter) - 1}
          ) n
        ),
        'ffffffff-ffff-ffff-ffff-ffffffffffff'
      )
  `;
}
