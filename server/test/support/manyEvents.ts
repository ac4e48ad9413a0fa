import type pg from "pg";
import { dayMs, ensurePartitions } from "../../src/postgres/partitions.ts";
import { noQueryTimeoutMs } from "../../src/postgres/hot/queryLimit.ts";

export interface ManyEvents {
  /** The organization with most of the events, in webhook targets and mailboxes. */
  orgId: string;
  webhookId: string;
  mailboxId: string;
  /** The correlation id of one in a thousand events. */
  correlationId: string;
  /** Id of an event older than half of the organization's events. */
  middleId: string;
  /**
   * Another webhook of the organization: the newest nine tenths of its events wait, and only older ones are
   * delivered.
   */
  lateWebhookId: string;
  /** The event type of one in five thousand events. */
  rareType: string;
}

/** Number of days over which the events are spread. */
const days = 9;

/**
 * Stores events of every status as the service would, spread evenly over nine days: five organizations with ten
 * targets each, of which two are mailboxes; the first organization has most of the events.
 */
export async function storeManyEvents(pool: pg.Pool, count: number): Promise<ManyEvents> {
  await ensurePartitions(pool, Date.now() - 8 * dayMs);
  await ensurePartitions(pool, Date.now());
  return fillPartitions(pool, count);
}

/**
 * Stores the events in existing partitions, also with the schema of an earlier version; by several concurrent
 * sessions.
 */
export async function fillPartitions(pool: pg.Pool, count: number, sessions = 1): Promise<ManyEvents> {
  await pool.query(unloggedSql);
  const bounds = Array.from({ length: sessions + 1 }, (_, n) => Math.floor((count * n) / sessions));
  const [described] = await Promise.all(
    bounds.slice(1).map((to, n) => fillRange(pool, { count, from: bounds[n]! + 1, to })),
  );
  return described!;
}

/** Ids of the events with the correlation id of one in a thousand events. */
export async function correlatedIds(
  pool: pg.Pool,
  { correlationId }: Pick<ManyEvents, "correlationId">,
): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>("select id from events where correlation_id = $1", [
    correlationId,
  ]);
  return new Set(rows.map(({ id }) => id));
}

interface Range {
  /** Number of all events. */
  count: number;
  /** First and last number of this session's events; the highest numbers are the oldest events. */
  from: number;
  to: number;
}

async function fillRange(pool: pg.Pool, { count, from, to }: Range): Promise<ManyEvents> {
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    await client.query(namesSql);
    if (from === 1) await client.query(ownersSql);
    await client.query(unhurried(itemsSql, [count, (days - 1) * dayMs, from, to]));
    for (const sql of itemStatements) await client.query(unhurried(sql));
    await client.query(unhurried("analyze"));
    const { rows } = await client.query<ManyEvents>(describeSql);
    return rows[0]!;
  } finally {
    client.release(true);
  }
}

/** A statement without the driver's time limit; the driver's types lack the limit of a single statement. */
function unhurried(text: string, values: unknown[] = []) {
  const statement = { text, values, query_timeout: noQueryTimeoutMs };
  return statement;
}

/** Nothing here has to survive the test, and without WAL a million rows take half the time. */
const unloggedSql = `
do $$
declare
  v_partition regclass;
begin
  for v_partition in
    select i.inhrelid
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where c.relkind = 'r'
  loop
    execute format('alter table %s set unlogged', v_partition);
  end loop;
end
$$;
alter table deliveries set unlogged;
alter table messages set unlogged`;

/** Functions with which every session computes the same values. */
const namesSql = `
create function pg_temp.new_id(p_ms bigint, p_number bigint, p_bucket integer) returns uuid
language sql
immutable
as $$
  select (
    lpad(to_hex(p_ms), 12, '0')
    || '7' || substr(md5(p_number::text), 1, 3)
    || '8' || substr(md5(p_number::text), 4, 13)
    || lpad(to_hex(p_bucket), 2, '0')
  )::uuid
$$;

create temporary table owner as
select
  o * 10 + t as number,
  pg_temp.new_id(o, o, o) as org_id,
  pg_temp.new_id(o * 10 + t, o * 10 + t, (o * 37 + t * 11) % 256) as target_id,
  ((o * 37 + t * 11) % 256)::smallint as bucket,
  case when t < 8 then 1 else 2 end::smallint as kind
from generate_series(1, 5) as o
cross join generate_series(0, 9) as t`;

const ownersSql = `
insert into organizations (id, name, slug, billing_status, created_at)
select pg_temp.new_id(o, o, o), 'many ' || o, 'many-' || o, 'active', 1
from generate_series(1, 5) as o;

insert into targets (id, org_id, kind, name, url, secret, created_at, updated_at)
select
  target_id,
  org_id,
  case kind when 1 then 'webhook' else 'mailbox' end,
  'many ' || number,
  case when kind = 1 then 'https://example.com' end,
  case when kind = 1 then '\\x00'::bytea end,
  1,
  1
from owner`;

/** Assigns each item one of a hundred fates (`fate`); the first organization gets three of five items. */
const itemsSql = `
create temporary table item as
select
  i as number,
  o.org_id,
  o.target_id,
  o.bucket,
  o.kind,
  i.at_ms,
  pg_temp.new_id(i.at_ms, i.number, o.bucket) as id,
  case
    when o.number = 11 and i.number < $1::bigint * 9 / 10 then 12
    else i.number * 7919 % 101
  end as fate
from (
  select
    n as number,
    (extract(epoch from now()) * 1000)::bigint - n * $2::bigint / $1::bigint as at_ms,
    (case when n % 2 = 0 then 10 + n / 2 % 10 else 10 + n % 50 end) as owner
  from generate_series($4::bigint, $3::bigint, -1) as n
) i
join owner o on o.number = i.owner`.replace("i as number,", "i.number,");

const itemStatements = [
  `insert into events (
     bucket, kind, max_retries, billable, target_id, id, org_id, event_type, correlation_id, payload
   )
   select
     bucket, kind, 8, true, target_id, id, org_id,
     case when number % 5000 in (10, 18, 36) then 'order.rare' else 'order.made' end,
     case when number % 10 = 0 then 'c-' || number % 1000 end, '{}'
   from item`,
  `insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
   select
     bucket, case when fate < 5 then 'FAILED' when fate < 8 then 'FILTERED' else 'CANCELED' end, id, org_id,
     target_id, at_ms
   from item
   where kind = 1
     and fate < 10`,
  `insert into deliveries (
     bucket, kind, attempts, schedule_attempts, id, target_id, org_id, due_at, lease_until, lease_token, event_ids
   )
   select
     bucket, 1, case when fate < 15 then 0 else 1 end, 0, id, target_id, org_id, at_ms,
     case when number < 2000 then 1 end, case when number < 2000 then 1 end, array[id]
   from item
   where kind = 1
     and fate between 10 and 19`,
  `insert into attempts (
     bucket, number, outcome, status_code, duration_ms, event_id, org_id, target_id, attempted_at, error
   )
   select
     bucket, 1, case when fate < 20 then 2 else 1 end, 200, 5, id, org_id, target_id, at_ms,
     case when fate < 20 then 'receiver answered 500' end
   from item
   where kind = 1
     and (fate < 5 or fate between 15 and 60)`,
  `insert into delivered_groups (
     bucket, target_id, org_id, last_id, event_ids, status_codes, durations_ms, attempted_at
   )
   select
     bucket,
     target_id,
     org_id,
     (array_agg(id order by id desc))[1],
     array_agg(id order by id),
     array_agg(200::smallint),
     array_agg(5),
     array_agg(at_ms order by id)
   from item
   where kind = 1
     and fate > 60
   group by bucket, target_id, org_id, at_ms / 1024`,
  `insert into messages (bucket, state, claim_count, mailbox_id, id, claimable_at, claimed_by, claim_token)
   select
     bucket,
     case when fate < 20 then 1 else 2 end,
     1,
     target_id,
     id,
     case when fate >= 20 then at_ms + 31536000000 end,
     case when fate >= 20 then id end,
     case when fate >= 20 then id end
   from item
   where kind = 2
     and fate < 22
   order by number desc`,
  `insert into closed_messages (
     bucket, dead, claim_count, mailbox_id, id, position, closed_at, claimed_by, claim_token, reason
   )
   select
     bucket, fate = 22, 1, target_id, id, number, at_ms, id, id, case when fate = 22 then 'rejected' end
   from item
   where kind = 2
     and fate >= 22`,
];

const describeSql = `
select
  replace(o.org_id::text, '-', '') as "orgId",
  replace(o.target_id::text, '-', '') as "webhookId",
  replace(m.target_id::text, '-', '') as "mailboxId",
  'c-10' as "correlationId",
  (
    select replace(e.id::text, '-', '')
    from events e
    where e.org_id = o.org_id
    order by e.id desc
    limit 1
    offset (select count(*) / 2 from item i where i.org_id = o.org_id)
  ) as "middleId",
  replace(l.target_id::text, '-', '') as "lateWebhookId",
  'order.rare' as "rareType"
from owner o, owner m, owner l
where o.number = 10
  and m.number = 18
  and l.number = 11`;
