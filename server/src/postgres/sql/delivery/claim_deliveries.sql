-- Leases due deliveries to the caller, a few from each target, round-robin over the waiting targets: a target with a
-- million due items is one step of the circle, as is a target with one.
--
-- The circle is the order (bucket, target_id) of the index deliveries_due; the caller keeps the cursor (p_bucket, p_target)
-- and passes the one that the last row named. At most p_max_targets steps are taken, so the cost of a call is bounded
-- even if many targets wait for a later moment. The steps are written out here and in claim_handoff_polls: a shared
-- function that takes and returns the state of the circle made a claim of one item 3 % slower, and a claim that passes 64
-- targets with nothing due 7 % slower.
--
-- Each row of deliveries is one row of the result; a replay, which is alone in its row, has the id of the event that it
-- repeats. The arrays have the row's items, except those whose event is gone. The last row has no item: it has the cursor to
-- go on from (target_id), and whether the circle was closed or more targets may wait beyond the cursor; null in other rows.
--
-- The caller has no room for targets in p_skip. Targets in p_wide have shown that they take p_per_target items at a time, so
-- whole rows are leased until that number is reached; for other targets at most p_few items, if necessary a part of a row.
-- For a target with a rate limit at most the items of one second. Deliveries of a deleted target are canceled here.
--
-- With p_only, only those targets are visited, in that order, and the cursor is not used. The circle does not count as
-- closed if another caller had locked due rows: that caller may give some back, or leave rows that came later.
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
  -- Where an item of the row is of a publication, which has its payload (publication_payloads): those of all items, null for others.
  publication_ids uuid[]
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_first record;
  v_target record;
  v_bucket smallint := p_bucket;
  v_cursor uuid := p_target;
  v_wrapped boolean := false;
  v_closed boolean := false;
  v_met_others boolean := false;
  v_steps integer := 0;
  v_taken integer := 0;
  v_wanted integer;
  v_is_wide boolean;
  v_part_id uuid;
  v_whole record;
  v_rest_ids uuid[];
  -- The rows leased from one target, with the running count of items, and the items.
  v_row_ids uuid[];
  v_attempts smallint[];
  v_schedules smallint[];
  v_ends integer[];
  v_event_ids uuid[];
  v_low uuid;
  v_high uuid;
begin
  while v_steps < p_max_targets and v_taken < p_limit loop
    v_steps := v_steps + 1;

    if p_only is not null then
      if v_steps > cardinality(p_only) then
        v_closed := true;
        exit;
      end if;
      select d.bucket, d.target_id, d.due_at, d.kind, cardinality(d.event_ids) as items
      into v_first
      from deliveries d
      where d.lease_until is null
        and d.bucket = get_byte(uuid_send(p_only[v_steps]), 15)
        and d.target_id = p_only[v_steps]
      order by d.due_at
      limit 1;
      continue when not found;
    else
      select d.bucket, d.target_id, d.due_at, d.kind, cardinality(d.event_ids) as items
      into v_first
      from deliveries d
      where d.lease_until is null
        and (d.bucket, d.target_id) > (v_bucket, v_cursor)
      order by d.bucket, d.target_id, d.due_at
      limit 1;

      if not found then
        if v_wrapped then
          v_closed := true;
          exit;
        end if;
        v_wrapped := true;
        v_bucket := -1;
        v_cursor := '00000000-0000-0000-0000-000000000000';
        continue;
      end if;
    end if;

    v_bucket := v_first.bucket;
    v_cursor := v_first.target_id;
    if v_wrapped and (v_bucket, v_cursor) > (p_bucket, p_target) then
      v_closed := true;
      exit;
    end if;
    continue when v_first.due_at > v_now_ms or v_cursor = any (p_skip);

    select t.enabled, t.version, least(ceil(t.rate_limit_per_second), 10000)::integer as per_second
    into v_target
    from targets t
    where t.id = v_cursor;

    if not found then
      perform cancel_deliveries(v_bucket, v_cursor, 1000);
      continue;
    end if;
    continue when not v_target.enabled;

    -- Whole rows may have up to 63 items more than wanted.
    v_is_wide := v_cursor = any (p_wide) and coalesce(v_target.per_second > 64, true);
    -- A null is passed over by `least`.
    v_wanted := least(case when v_is_wide then p_per_target else p_few end, p_limit - v_taken, v_target.per_second);
    if v_is_wide or v_first.items <= v_wanted then
      with locked as (
        select d.ctid as tid, cardinality(d.event_ids) as items, d.due_at
        from deliveries d
        where d.bucket = v_bucket
          and d.target_id = v_cursor
          and d.lease_until is null
          and d.due_at <= v_now_ms
        order by d.due_at
        -- Mostly a few rows have enough items, and the others need not be looked at.
        limit (
          select
            case
              when max(s.total) < v_wanted then v_wanted
              else count(*) filter (where s.total - s.items < v_wanted)
            end
          from (
            select r.items, sum(r.items) over (order by r.due_at rows unbounded preceding) as total
            from (
              select cardinality(d.event_ids) as items, d.due_at
              from deliveries d
              where d.bucket = v_bucket
                and d.target_id = v_cursor
                and d.lease_until is null
                and d.due_at <= v_now_ms
              order by d.due_at
              limit 16
            ) r
          ) s
        )
        -- `skip locked`: another caller is claiming these rows.
        for update skip locked
      ),
      due as (
        select f.tid
        from (
          select l.tid, l.items, sum(l.items) over (order by l.due_at rows unbounded preceding) as total
          from locked l
        ) f
        where case when v_is_wide then f.total - f.items < v_wanted else f.total <= v_wanted end
      ),
      leased as (
        update deliveries d
        set lease_until = v_now_ms + p_lease_ms,
          lease_token = p_lease_token
        from due
        where d.bucket = v_bucket
          -- Locked above, so it stays where it is.
          and d.ctid = due.tid
        returning d.id, d.event_ids, d.attempts, d.schedule_attempts
      ),
      -- By their oldest items, and each with the number of items up to and with it.
      counted as (
        select l.*, sum(cardinality(l.event_ids)) over (order by l.event_ids[1]) as until
        from leased l
      )
      select
        array_agg(l.id),
        array_agg(l.attempts),
        array_agg(l.schedule_attempts),
        array_agg(l.until),
        min(l.event_ids[1]::text collate "C")::uuid,
        max(l.event_ids[cardinality(l.event_ids)]::text collate "C")::uuid,
        array(select i.id from counted c cross join unnest(c.event_ids) as i (id))
      into v_row_ids, v_attempts, v_schedules, v_ends, v_low, v_high, v_event_ids
      from counted l;
    else
      -- The oldest items of the first row, in a row of their own.
      v_part_id := overlay(gen_random_uuid()::text placing lpad(to_hex(v_bucket::integer), 2, '0') from 35 for 2);
      v_row_ids := null;
      select d.id, d.kind, d.attempts, d.schedule_attempts, d.org_id, d.due_at, d.event_ids
      into v_whole
      from deliveries d
      where d.bucket = v_bucket
        and d.target_id = v_cursor
        and d.lease_until is null
        and d.due_at <= v_now_ms
        and cardinality(d.event_ids) > v_wanted
      order by d.due_at
      limit 1
      for update skip locked;
      if found then
        v_event_ids := v_whole.event_ids[: v_wanted];
        v_rest_ids := v_whole.event_ids[v_wanted + 1 :];
        update deliveries d
        set event_ids = v_rest_ids
        where d.bucket = v_bucket
          and d.id = v_whole.id;
        insert into deliveries (
          bucket, kind, attempts, schedule_attempts, id, target_id, org_id, due_at, lease_until, lease_token,
          event_ids
        )
        values (
          v_bucket, v_whole.kind, v_whole.attempts, v_whole.schedule_attempts, v_part_id, v_cursor, v_whole.org_id,
          v_whole.due_at, v_now_ms + p_lease_ms, p_lease_token, v_event_ids
        );
        v_row_ids := array[v_part_id];
        v_attempts := array[v_whole.attempts];
        v_schedules := array[v_whole.schedule_attempts];
        v_ends := array[v_wanted];
        v_low := v_event_ids[1];
        v_high := v_event_ids[v_wanted];
      end if;
    end if;
    if v_row_ids is null then
      v_met_others := true;
      continue;
    end if;

    return query
    select
      v_row_ids[r],
      v_attempts[r],
      v_schedules[r],
      v_first.kind,
      v_cursor,
      v_target.version,
      e.source_id,
      e.webhook,
      null::boolean,
      e.ids,
      e.types,
      e.correlations,
      e.payloads,
      e.contexts,
      e.publications
    from generate_series(1, cardinality(v_row_ids)) as r
    cross join lateral (
      select
        array_agg(x.id) as ids,
        array_agg(x.event_type) as types,
        array_agg(x.correlation_id) as correlations,
        array_agg(x.payload) as payloads,
        case when count(x.publication_id) > 0 then array_agg(x.publication_id) end as publications,
        -- Null unless the caller traces.
        array_agg(x.trace_context) filter (where p_is_traced) as contexts,
        -- Nulls are left out, which is all that there is in most rows.
        (array_agg(x.source_event_id) filter (where x.source_event_id is not null))[1] as source_id,
        (array_agg(x.webhook_id) filter (where x.webhook_id is not null))[1] as webhook
      from events x
      where x.bucket = v_bucket
        and x.target_id = v_cursor
        and x.id = any (v_event_ids[coalesce(v_ends[r - 1], 0) + 1 : v_ends[r]])
        -- Lets the executor leave out the other days of `events` at its start.
        and x.id between v_low and v_high
    ) e;
    v_taken := v_taken + cardinality(v_event_ids);
  end loop;

  return query
  select
    null::uuid,
    null::smallint,
    null::smallint,
    null::smallint,
    v_cursor,
    null::bigint,
    null::uuid,
    null::uuid,
    v_closed and not v_met_others,
    null::uuid[],
    null::text[],
    null::text[],
    null::bytea[],
    null::bytea[],
    null::uuid[];
end
$$;
