-- Leases due deliveries to the caller, a few from each target, in a circle over the targets that wait: a
-- target with a million due items is one step of the circle, as is a target with one.
--
-- The circle is the order (bucket, target_id) of the index deliveries_due; the caller keeps its place
-- (p_bucket, p_target) and passes what the last row names. At most p_max_targets steps are taken, so the
-- cost of a call is bounded however many targets wait for a later moment.
-- The last row has no event: its target_id is the place to go on from, and its kind is 1 when the circle was
-- closed, 0 when more targets may wait beyond that place.
-- Targets in p_skip have no room on the caller; those in p_wide have shown that they take p_per_target at a time,
-- the others get p_few. Deliveries of a deleted target are settled as CANCELED here.
drop function if exists claim_deliveries;
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
  p_max_targets integer
)
returns table (
  event_id uuid,
  target_id uuid,
  org_id uuid,
  kind smallint,
  attempts smallint,
  schedule_attempts smallint,
  due_at bigint,
  target_version bigint,
  max_retries smallint,
  event_type text,
  correlation_id text,
  payload text
)
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_first record;
  v_target record;
  v_bucket smallint := p_bucket;
  v_cursor uuid := p_target;
  v_wrapped boolean := false;
  v_closed boolean := false;
  v_steps integer := 0;
  v_taken integer := 0;
  v_count integer;
begin
  while v_steps < p_max_targets and v_taken < p_limit loop
    v_steps := v_steps + 1;

    select d.bucket, d.target_id, d.due_at
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

    v_bucket := v_first.bucket;
    v_cursor := v_first.target_id;
    if v_wrapped and (v_bucket, v_cursor) > (p_bucket, p_target) then
      v_closed := true;
      exit;
    end if;
    continue when v_first.due_at > v_now_ms or v_cursor = any (p_skip);

    select t.enabled, t.version
    into v_target
    from targets t
    where t.id = v_cursor;

    if not found then
      perform cancel_deliveries(v_bucket, v_cursor, 1000);
      continue;
    end if;
    continue when not v_target.enabled;

    return query
    with due as (
      select d.ctid as place
      from deliveries d
      where d.bucket = v_bucket
        and d.target_id = v_cursor
        and d.lease_until is null
        and d.due_at <= v_now_ms
      order by d.due_at
      limit least(case when v_cursor = any (p_wide) then p_per_target else p_few end, p_limit - v_taken)
      for update skip locked
    ),
    leased as (
      update deliveries d
      set lease_until = v_now_ms + p_lease_ms,
        lease_token = p_lease_token
      from due
      where d.bucket = v_bucket
        -- Locked above, so it stays where it is.
        and d.ctid = due.place
      returning d.*
    )
    select
      d.event_id,
      d.target_id,
      d.org_id,
      d.kind,
      d.attempts,
      d.schedule_attempts,
      d.due_at,
      v_target.version,
      e.max_retries,
      e.event_type,
      e.correlation_id,
      -- Every payload is JSON in UTF-8; the text form of bytes would be twice as long.
      convert_from(e.payload, 'UTF8')
    from leased d
    join events e on e.bucket = d.bucket and e.target_id = d.target_id and e.id = d.event_id;
    get diagnostics v_count = row_count;
    v_taken := v_taken + v_count;
  end loop;

  return query
  select
    null::uuid,
    v_cursor,
    null::uuid,
    (case when v_closed then 1 else 0 end)::smallint,
    null::smallint,
    null::smallint,
    null::bigint,
    null::bigint,
    null::smallint,
    null::text,
    null::text,
    null::text;
end
$$;
