-- Leases due deliveries to the caller, a few from each target, round-robin over the waiting targets: a target with a
-- million due items is one step of the circle, as is a target with one.
--
-- The circle is the order (bucket, target_id) of the index deliveries_due; the caller keeps the cursor (p_bucket, p_target)
-- and passes the cursor from the last row of the previous result. At most p_max_targets steps are taken, so the cost of a
-- call is bounded even if many targets wait for a later moment. One statement takes all steps, and another leases all rows:
-- with separate statements for each target, a target cost four times as much.
--
-- The result has one row for each leased row of deliveries. The arrays have the row's items, except items whose event is
-- gone. A replay is alone in its row and has the source_event_id, the event that it repeats. The last row of the result has
-- no items: its target_id is the cursor for the next call, and its is_circle_closed (null in all other rows) says whether all
-- waiting targets were visited, or more may wait beyond the cursor.
--
-- p_skip: targets for which the caller has no room. p_wide: targets that have proved that they can take p_per_target items
-- at a time; their rows are leased whole until that number is reached. Other targets get at most p_few items, if necessary a part
-- of a row. A target with a rate limit gets at most the items of one second. Deliveries of deleted targets are canceled.
--
-- With p_only, only its targets are visited, in its order, and the cursor is not used. The circle does not count as closed if
-- another caller had locked due rows: that caller may release some rows, or may not have seen rows that were added later.
create function claim_deliveries(
  p_lease_ms integer,
  p_lease_token bigint,
  p_bucket smallint,
  p_target uuid,
  p_skip uuid[],
  p_wide uuid[],
  p_limit integer,
  p_per_target integer,
  p_few integer,
  p_max_targets integer,
  p_only uuid[],
  p_is_traced boolean
)
returns table (
  row_id uuid,
  attempts smallint,
  schedule_attempts smallint,
  kind smallint,
  target_id uuid,
  target_version bigint,
  source_event_id uuid,
  webhook_id uuid,
  is_circle_closed boolean,
  event_ids uuid[],
  event_types text[],
  correlation_ids text[],
  payloads bytea[],
  trace_contexts bytea[],
  -- The publication of each item, null for items without one; null instead of an array when no item has one. The payload of a
  -- publication comes from publication_payloads.
  publication_ids uuid[]
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  -- The steps: each target, whether its first row is due, and the number of items in that row.
  v_step_ids uuid[];
  v_step_due boolean[];
  v_step_items integer[];
  v_closed boolean;
  v_deleted_ids uuid[];
  v_deleted_id uuid;
  -- The targets to claim from: the id and version of each, whether its rows are leased whole, the number of items to lease,
  -- and the number of rows to read for them; v_last_step is the step of the last target.
  v_target_ids uuid[];
  v_versions bigint[];
  v_wide boolean[];
  v_wanted integer[];
  v_rows integer[];
  v_last_step integer;
  -- Whether these targets may have p_limit items or more; the claim then ends at the last of them.
  v_is_limited boolean := false;
  -- Number of targets from which rows were leased.
  v_met integer := 0;
  -- Whether another transaction changed one of the rows between the claiming statement's snapshot and its lock.
  v_is_overtaken boolean;
  -- The leased rows; v_numbers has the index of each row's target in v_target_ids. Where only a part of a row is leased,
  -- v_ids has the id of that row, and v_row_ids the id of the new row for the part.
  v_numbers integer[];
  v_ids uuid[];
  v_row_ids uuid[];
  v_kinds smallint[];
  v_attempts smallint[];
  v_schedules smallint[];
  v_org_ids uuid[];
  v_due_at bigint[];
  -- The leased items of all rows in v_event_ids; v_ends has the index of each row's last item there.
  v_ends integer[];
  v_event_ids uuid[];
  v_low_id uuid;
  v_high_id uuid;
begin
  if p_only is null then
    with recursive circle as (
      select
        0 as step, false as is_wrapped, p_bucket as bucket, p_target as target_id, null::bigint as due_at,
        null::integer as items
      union all
      select c.step + 1, f.is_wrapped, f.bucket, f.target_id, f.due_at, f.items
      from circle c
      -- One step in the index deliveries_due, regardless of how many rows the target has.
      cross join lateral (
        (
          select c.is_wrapped as is_wrapped, d.bucket, d.target_id, d.due_at, cardinality(d.event_ids) as items
          from deliveries d
          where d.lease_until is null
            and (d.bucket, d.target_id) > (c.bucket, c.target_id)
          order by d.bucket, d.target_id, d.due_at
          limit 1
        )
        union all
        (
          select true, d.bucket, d.target_id, d.due_at, cardinality(d.event_ids)
          from deliveries d
          where d.lease_until is null
            and not c.is_wrapped
          order by d.bucket, d.target_id, d.due_at
          limit 1
        )
        limit 1
      ) f
      where c.step < p_max_targets
        and (not f.is_wrapped or (f.bucket, f.target_id) <= (p_bucket, p_target))
    )
    select
      array_agg(c.target_id order by c.step),
      array_agg(c.due_at <= v_now_ms order by c.step),
      array_agg(c.items order by c.step)
    into v_step_ids, v_step_due, v_step_items
    from circle c
    where c.step > 0;
    v_closed := coalesce(cardinality(v_step_ids), 0) < p_max_targets;
  else
    select
      array_agg(o.id order by o.step),
      array_agg(f.due_at <= v_now_ms order by o.step),
      array_agg(f.items order by o.step)
    into v_step_ids, v_step_due, v_step_items
    from unnest(p_only[: p_max_targets]) with ordinality as o (id, step)
    left join lateral (
      select d.due_at, cardinality(d.event_ids) as items
      from deliveries d
      where d.lease_until is null
        and d.bucket = get_byte(uuid_send(o.id), 15)
        and d.target_id = o.id
      order by d.due_at
      limit 1
    ) f on true;
    v_closed := cardinality(p_only) < p_max_targets;
  end if;

  if true = any (v_step_due) then
    with waiting as (
      select
        s.step,
        s.id,
        s.items,
        t.id is null as is_deleted,
        t.version,
        least(ceil(t.rate_limit_per_second), 10000)::integer as per_second,
        -- Leasing whole rows may exceed the wanted number by up to 63 items.
        s.id = any (p_wide) and coalesce(t.rate_limit_per_second > 64, true) as is_wide
      from unnest(v_step_ids, v_step_due, v_step_items) with ordinality as s (id, is_due, items, step)
      left join targets t on t.id = s.id
      where s.is_due
        and s.id <> all (p_skip)
        and coalesce(t.enabled, true)
    ),
    wanted as (
      -- `least` ignores nulls.
      select w.*, least(case when w.is_wide then p_per_target else p_few end, w.per_second) as wanted
      from waiting w
      where not w.is_deleted
    ),
    sized as (
      select
        w.*,
        case
          when w.items >= w.wanted then array[1, case when w.is_wide then w.items else w.wanted end]
          else (
            -- Usually a few rows have enough items, so at most 16 are read.
            select
              case
                when max(s.total) < w.wanted then array[w.wanted, case when count(*) < 16 then max(s.total) else w.wanted end]
                else array[
                  count(*) filter (where s.total - s.items < w.wanted),
                  case when w.is_wide then coalesce(min(s.total) filter (where s.total >= w.wanted), 0) else w.wanted end
                ]
              end
            from (
              select r.items, sum(r.items) over (order by r.due_at rows unbounded preceding) as total
              from (
                select cardinality(d.event_ids) as items, d.due_at
                from deliveries d
                where d.bucket = get_byte(uuid_send(w.id), 15)
                  and d.target_id = w.id
                  and d.lease_until is null
                  and d.due_at <= v_now_ms
                order by d.due_at
                limit 16
              ) r
            ) s
          )
        end as size
      from wanted w
    ),
    placed as (
      select s.*, sum(s.size[2]) over (order by s.step) - s.size[2] as before
      from sized s
    )
    select
      array_agg(p.id order by p.step) filter (where p.before < p_limit),
      array_agg(p.version order by p.step) filter (where p.before < p_limit),
      array_agg(p.is_wide order by p.step) filter (where p.before < p_limit),
      array_agg(least(p.wanted, p_limit - p.before) order by p.step) filter (where p.before < p_limit),
      array_agg(p.size[1] order by p.step) filter (where p.before < p_limit),
      max(p.step) filter (where p.before < p_limit),
      coalesce(bool_or(p.before + p.size[2] >= p_limit), false),
      array(select w.id from waiting w where w.is_deleted)
    into v_target_ids, v_versions, v_wide, v_wanted, v_rows, v_last_step, v_is_limited, v_deleted_ids
    from placed p;
    foreach v_deleted_id in array v_deleted_ids loop
      perform cancel_deliveries(get_byte(uuid_send(v_deleted_id), 15)::smallint, v_deleted_id, 1000);
    end loop;

    with locked as (
      select t.number, t.is_wide, t.wanted, d.*
      from unnest(v_target_ids, v_wide, v_wanted, v_rows) with ordinality as t (id, is_wide, wanted, rows, number)
      cross join lateral (
        select w.ctid as tid, w.id, w.kind, w.attempts, w.schedule_attempts, w.org_id, w.due_at, w.event_ids
        from deliveries w
        where w.bucket = get_byte(uuid_send(t.id), 15)
          and w.target_id = t.id
          and w.lease_until is null
          and w.due_at <= v_now_ms
        order by w.due_at
        limit t.rows
        -- `skip locked`: another caller is claiming these rows.
        for update skip locked
      ) d
    ),
    counted as (
      select
        l.*,
        cardinality(l.event_ids) as items,
        sum(cardinality(l.event_ids)) over (partition by l.number order by l.due_at rows unbounded preceding) as total
      from locked l
    ),
    taken as (
      select
        c.*,
        case when c.is_wide then c.event_ids else c.event_ids[: c.wanted] end as taken_ids,
        not c.is_wide and c.items > c.wanted as is_part,
        sum(case when c.is_wide then c.items else least(c.items, c.wanted) end) over oldest_first as until,
        row_number() over oldest_first as place
      from counted c
      where case when c.is_wide then c.total - c.items < c.wanted else c.total <= c.wanted or c.total = c.items end
      window oldest_first as (order by c.number, c.event_ids[1] rows unbounded preceding)
    ),
    leased as (
      update deliveries d
      set lease_until = v_now_ms + p_lease_ms,
        lease_token = p_lease_token
      from taken t
      where not t.is_part
        and d.bucket = get_byte(uuid_send(t.id), 15)
        -- The row is locked, so its ctid does not change.
        and d.ctid = t.tid
      returning d.id
    )
    select
      array_agg(t.number order by t.place),
      array_agg(t.id order by t.place),
      array_agg(
        case
          when t.is_part then overlay(gen_random_uuid()::text placing right(t.id::text, 2) from 35 for 2)::uuid
          else t.id
        end
        order by t.place
      ),
      array_agg(t.kind order by t.place),
      array_agg(t.attempts order by t.place),
      array_agg(t.schedule_attempts order by t.place),
      array_agg(t.org_id order by t.place),
      array_agg(t.due_at order by t.place),
      array_agg(t.until order by t.place),
      array(
        select i.id
        from taken x
        cross join unnest(x.taken_ids) with ordinality as i (id, n)
        order by x.place, i.n
      ),
      -- PostgreSQL has min and max of a uuid only from version 18 on.
      min(t.taken_ids[1]::text collate "C")::uuid,
      max(t.taken_ids[cardinality(t.taken_ids)]::text collate "C")::uuid,
      count(distinct t.number),
      count(*) filter (where not t.is_part) > (select count(*) from leased)
    into v_numbers, v_ids, v_row_ids, v_kinds, v_attempts, v_schedules, v_org_ids, v_due_at, v_ends, v_event_ids,
      v_low_id, v_high_id, v_met, v_is_overtaken
    from taken t;

    -- The lock is on the newest version of a row. The update above does not see that version if another transaction created
    -- it after the statement's snapshot.
    if v_is_overtaken then
      update deliveries d
      set lease_until = v_now_ms + p_lease_ms,
        lease_token = p_lease_token
      from unnest(v_ids, v_row_ids) as r (id, row_id)
      where r.row_id = r.id
        and d.bucket = get_byte(uuid_send(r.id), 15)
        and d.id = r.id
        and d.lease_until is null;
    end if;

    if v_ids <> v_row_ids then
      update deliveries d
      set event_ids = array(
        select i.id
        from unnest(d.event_ids) with ordinality as i (id, n)
        where i.id <> all (v_event_ids)
        order by i.n
      )
      from unnest(v_ids, v_row_ids) as r (id, row_id)
      where r.row_id <> r.id
        and d.bucket = get_byte(uuid_send(r.id), 15)
        and d.id = r.id;
      insert into deliveries (
        bucket, kind, attempts, schedule_attempts, id, target_id, org_id, due_at, lease_until, lease_token, event_ids
      )
      select
        get_byte(uuid_send(v_row_ids[r]), 15),
        v_kinds[r],
        v_attempts[r],
        v_schedules[r],
        v_row_ids[r],
        v_target_ids[v_numbers[r]],
        v_org_ids[r],
        v_due_at[r],
        v_now_ms + p_lease_ms,
        p_lease_token,
        v_event_ids[coalesce(v_ends[r - 1], 0) + 1 : v_ends[r]]
      from generate_series(1, cardinality(v_row_ids)) as r
      where v_row_ids[r] <> v_ids[r];
    end if;

    return query
    select
      v_row_ids[r.n],
      v_attempts[r.n],
      v_schedules[r.n],
      v_kinds[r.n],
      v_target_ids[v_numbers[r.n]],
      v_versions[v_numbers[r.n]],
      e.source_id,
      e.webhook,
      null::boolean,
      e.ids,
      e.types,
      e.correlations,
      e.payloads,
      e.contexts,
      e.publications
    from generate_series(1, cardinality(v_row_ids)) as r (n)
    cross join lateral (
      select v_event_ids[coalesce(v_ends[r.n - 1], 0) + 1 : v_ends[r.n]] as ids
      offset 0
    ) i
    cross join lateral (
      select
        array_agg(x.id) as ids,
        array_agg(x.event_type) as types,
        array_agg(x.correlation_id) as correlations,
        array_agg(x.payload) as payloads,
        case when count(x.publication_id) > 0 then array_agg(x.publication_id) end as publications,
        -- Null unless the caller traces.
        array_agg(x.trace_context) filter (where p_is_traced) as contexts,
        -- In most rows all of these are null; the filter keeps the array empty then.
        (array_agg(x.source_event_id) filter (where x.source_event_id is not null))[1] as source_id,
        (array_agg(x.webhook_id) filter (where x.webhook_id is not null))[1] as webhook
      from events x
      where x.bucket = get_byte(uuid_send(v_row_ids[r.n]), 15)
        and x.target_id = v_target_ids[v_numbers[r.n]]
        and x.id = any (i.ids)
        -- Partition pruning: with the first range, the executor skips at its start all days of `events` without a leased item;
        -- with the second range, it then skips the days of other rows. All items of a row are of one day.
        and x.id between v_low_id and v_high_id
        and x.id between i.ids[1] and i.ids[cardinality(i.ids)]
    ) e;
  end if;
  if not v_is_limited then
    v_last_step := cardinality(v_step_ids);
  end if;

  return query
  select
    null::uuid,
    null::smallint,
    null::smallint,
    null::smallint,
    coalesce(v_step_ids[v_last_step], p_target),
    null::bigint,
    null::uuid,
    null::uuid,
    v_closed
      and not v_is_limited
      -- Otherwise another caller had locked due rows of a target.
      and coalesce(cardinality(v_target_ids), 0) = v_met,
    null::uuid[],
    null::text[],
    null::text[],
    null::bytea[],
    null::bytea[],
    null::uuid[];
end
$$;
