-- Leases polls of agents' tasks that are due, a few from each target, round-robin over the targets that have polls. The
-- circle and its cursor are those of claim_deliveries: the last row has no event; its target_id is the cursor for the next
-- call, and is_circle_closed says whether all targets were visited. There are few polls, so separate statements for each
-- target are affordable. A task of a deleted target cannot be followed any more: it ends here with an unknown outcome.
create function claim_handoff_polls(
  p_lease_ms integer,
  p_lease_token bigint,
  p_bucket smallint,
  p_target uuid,
  p_skip uuid[],
  p_limit integer,
  p_per_target integer,
  p_max_targets integer
)
returns table (
  event_id uuid,
  target_id uuid,
  polls smallint,
  missing smallint,
  deadline_at bigint,
  target_version bigint,
  task_id text,
  state text,
  fingerprint text,
  follow_error text,
  changed_at bigint,
  is_circle_closed boolean
) language plpgsql as $$
#variable_conflict use_column
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_first record;
  v_bucket smallint := p_bucket;
  v_cursor uuid := p_target;
  v_version bigint;
  v_wrapped boolean := false;
  v_closed boolean := false;
  v_steps integer := 0;
  v_taken integer := 0;
  v_count integer;
begin
  while v_steps < p_max_targets and v_taken < p_limit loop
    v_steps := v_steps + 1;

    select p.bucket, p.target_id, p.due_at
    into v_first
    from handoff_polls p
    where p.lease_until is null
      and (p.bucket, p.target_id) > (v_bucket, v_cursor)
    order by p.bucket, p.target_id, p.due_at
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

    select t.version
    into v_version
    from targets t
    where t.id = v_cursor;
    if not found then
      perform abandon_handoffs(v_bucket, v_cursor, 1000);
      continue;
    end if;

    return query
    with due as (
      select p.event_id
      from handoff_polls p
      where p.bucket = v_bucket
        and p.target_id = v_cursor
        and p.lease_until is null
        and p.due_at <= v_now_ms
      order by p.due_at
      limit least(p_per_target, p_limit - v_taken)
      for update skip locked
    ),
    leased as (
      update handoff_polls p
      set lease_until = v_now_ms + p_lease_ms,
        lease_token = p_lease_token,
        due_at = v_now_ms
      from due
      where p.bucket = v_bucket
        and p.event_id = due.event_id
      returning p.*
    )
    select
      p.event_id,
      p.target_id,
      p.polls,
      p.missing,
      p.deadline_at,
      v_version,
      h.task_id,
      h.state,
      h.fingerprint,
      h.follow_error,
      h.updated_at,
      null::boolean
    from leased p
    left join handoffs h on h.bucket = p.bucket and h.event_id = p.event_id;
    get diagnostics v_count = row_count;
    v_taken := v_taken + v_count;
  end loop;

  return query
  select
    null::uuid,
    v_cursor,
    null::smallint,
    null::smallint,
    null::bigint,
    null::bigint,
    null::text,
    null::text,
    null::text,
    null::text,
    null::bigint,
    v_closed;
end
$$;

-- Stops following at most p_limit tasks of a deleted target: the agent's address and the credentials for it were deleted with
-- the target.
create function abandon_handoffs(
  p_bucket smallint,
  p_target uuid,
  p_limit integer
)
returns integer language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  with followed as (
    select p.event_id
    from handoff_polls p
    where p.bucket = p_bucket
      and p.target_id = p_target
      and p.lease_until is null
    order by p.due_at
    limit p_limit
    for update skip locked
  ),
  gone as (
    delete from handoff_polls p
    using followed
    where p.bucket = p_bucket
      and p.event_id = followed.event_id
    returning p.event_id
  )
  update handoffs h
  set outcome = 'UNKNOWN',
    follow_error = 'the target was deleted',
    updated_at = v_now_ms
  from gone
  where h.bucket = p_bucket
    and h.event_id = gone.event_id
    and h.outcome is null;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Ends lapsed leases of polls, whose node died or stalled. Returns the number of polls.
create function sweep_handoff_polls()
returns integer language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  update handoff_polls p
  set lease_until = null,
    lease_token = null
  where p.lease_until < v_now_ms;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
