-- Processes one batch of a replay job at one target, in one transaction: creates the new events, moves the target's cursor
-- from p_from to p_to, updates the counts, schedules the next batch and releases the job's lease. The lease token is a
-- fencing token, and the cursor must still be at p_from: of two callers with the same batch, only one succeeds. Codes:
--   a advanced      l the lease has passed to another holder, or the job was canceled: nothing was done
--
-- p_source_ids has the ids of the events to replay in ascending order, p_ids those of the new events; all have the same last
-- byte, the target's bucket. p_waiting: number of events in the batch that are skipped because they are still waiting.
-- p_is_last: no event follows after p_to. p_wait_ms: minimum time until the next batch at this target. Events are created as
-- by replay_event, and skipped where replay_event would refuse them.
create function advance_replay(
  p_replay uuid,
  p_lease_token bigint,
  p_target uuid,
  p_from uuid,
  p_to uuid,
  p_is_last boolean,
  p_wait_ms integer,
  p_waiting integer,
  p_source_ids uuid[],
  p_ids uuid[],
  p_mailbox_retention_ms bigint,
  out code text,
  out made_ids uuid[],
  out is_finished boolean
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_bucket smallint := get_byte(uuid_send(p_target), 15);
  v_job record;
  v_target record;
  v_count integer := cardinality(p_source_ids);
  v_made integer := 0;
  v_no_target integer := 0;
  v_disabled integer := 0;
  v_next_at bigint;
begin
  is_finished := false;
  made_ids := '{}';
  select r.org_id, r.rate_per_second, r.due_at, r.new_webhook_id
  into v_job
  from replays r
  where r.id = p_replay
    and r.status = 'RUNNING'
    and r.lease_token = p_lease_token
  for update;
  if not found then
    code := 'l';
    return;
  end if;
  update replay_parts p
  set cursor_id = p_to,
    is_done = p_is_last,
    due_at = v_now_ms + p_wait_ms
  where p.replay_id = p_replay
    and p.target_id = p_target
    and p.cursor_id = p_from
    and not p.is_done;
  if not found then
    code := 'l';
    return;
  end if;
  code := 'a';

  if v_count > 0 then
    -- The lock prevents the target from being deleted before its new deliveries exist and can be canceled.
    select t.kind, t.enabled, t.max_retries
    into v_target
    from targets t
    where t.id = p_target
      and t.org_id = v_job.org_id
    for key share;
    if not found then
      v_no_target := v_count;
    elsif is_pulled(kind_number(v_target.kind)) and not v_target.enabled then
      v_disabled := v_count;
    else
      made_ids := store_replays(
        p_replay, v_job.org_id, p_target, v_target.max_retries, p_source_ids, p_ids,
        case
          when is_pulled(kind_number(v_target.kind)) then first_id_at(v_now_ms - p_mailbox_retention_ms)
          else '00000000-0000-0000-0000-000000000000'
        end,
        v_now_ms, v_job.new_webhook_id
      );
      v_made := cardinality(made_ids);
    end if;
  end if;

  select min(p.due_at)
  into v_next_at
  from replay_parts p
  where p.replay_id = p_replay
    and not p.is_done;
  is_finished := v_next_at is null;
  update replays r
  set replayed = r.replayed + v_made,
    skipped_waiting = r.skipped_waiting + p_waiting,
    skipped_no_target = r.skipped_no_target + v_no_target,
    skipped_mailbox_disabled = r.skipped_mailbox_disabled + v_disabled,
    -- The remaining source events are gone, erased or expired.
    skipped_expired = r.skipped_expired + v_count - v_made - v_no_target - v_disabled,
    -- A delayed job catches up on at most one second of its rate.
    due_at = greatest(
      greatest(r.due_at, v_now_ms - 1000) + v_made * 1000::bigint / r.rate_per_second,
      coalesce(v_next_at, 0)
    ),
    lease_until = null,
    lease_token = null,
    status = case when is_finished then 'DONE' else r.status end,
    finished_at = case when is_finished then v_now_ms end
  where r.id = p_replay;
  if is_finished then
    update replays r
    set total = r.replayed + r.skipped_waiting + r.skipped_no_target + r.skipped_mailbox_disabled + r.skipped_expired
    where r.id = p_replay;
    delete from replay_parts p
    where p.replay_id = p_replay;
  end if;
end
$$;

-- Stores the new events of a batch with their deliveries or messages. Returns the ids of those whose source event still
-- exists, is not erased and, in a mailbox, not expired. Each delivery has a row of its own, like every replay.
create function store_replays(
  p_replay uuid,
  p_org uuid,
  p_target uuid,
  p_max_retries smallint,
  p_source_ids uuid[],
  p_ids uuid[],
  p_from_id uuid,
  p_now_ms bigint,
  p_new_webhook_id boolean
)
returns uuid[] language plpgsql as $$
declare
  v_bucket smallint := get_byte(uuid_send(p_target), 15);
  v_low uuid := p_source_ids[1];
  v_high uuid := p_source_ids[cardinality(p_source_ids)];
  v_kind smallint;
  v_made uuid[];
  -- Parallel to v_made: the source events, and the values that are copied from them.
  v_sources uuid[];
  v_webhook_ids uuid[];
  v_event_types text[];
  v_correlation_ids text[];
  v_ordering_keys text[];
  v_payloads bytea[];
  v_operational boolean[];
  v_trace_contexts bytea[];
begin
  select
    array_agg(e.id order by n),
    array_agg(p_ids[n] order by n),
    min(e.kind),
    array_agg(coalesce(e.webhook_id, e.id) order by n),
    array_agg(e.event_type order by n),
    array_agg(e.correlation_id order by n),
    array_agg(e.ordering_key order by n),
    array_agg(e.stored_payload order by n),
    array_agg(e.is_operational order by n),
    array_agg(e.trace_context order by n)
  into v_sources, v_made, v_kind, v_webhook_ids, v_event_types, v_correlation_ids, v_ordering_keys, v_payloads,
    v_operational, v_trace_contexts
  from generate_series(1, cardinality(p_source_ids)) as n
  cross join lateral (
    select
      s.*,
      case when s.publication_id is null then s.payload else (
        select p.payload
        from publications p
        where p.bucket = get_byte(uuid_send(s.publication_id), 15)
          and p.id = s.publication_id
      ) end as stored_payload
    from events s
    where s.bucket = v_bucket
      and s.target_id = p_target
      and s.id = p_source_ids[n]
      -- Partition pruning: the executor skips the other days of `events`.
      and s.id between v_low and v_high
      and s.erasure_id is null
    -- An erasure waits for this lock, and then finds the copy that is inserted below.
    for share
  ) e
  where e.org_id = p_org
    and e.id >= p_from_id;
  if v_made is null then
    return '{}';
  end if;
  insert into events (
    bucket, kind, max_retries, billable, target_id, id, org_id, source_event_id, webhook_id, event_type,
    correlation_id, ordering_key, payload, replay_id, is_operational, trace_context
  )
  select
    v_bucket, v_kind, p_max_retries, false, p_target, m.id, p_org, m.source_id,
    case when not p_new_webhook_id then m.webhook_id end, m.event_type, m.correlation_id, m.ordering_key, m.payload,
    p_replay, m.is_operational, m.trace_context
  from unnest(
    v_made, v_sources, v_webhook_ids, v_event_types, v_correlation_ids, v_ordering_keys, v_payloads, v_operational,
    v_trace_contexts
  ) as m (
    id, source_id, webhook_id, event_type, correlation_id, ordering_key, payload, is_operational, trace_context
  );

  if is_pulled(v_kind) then
    perform put_message(p_target, m.id, p_now_ms)
    from unnest(v_made) with ordinality as m (id, n)
    order by m.n;
  else
    insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
    select v_bucket, v_kind, m.id, p_target, p_org, p_now_ms, array[m.id]
    from unnest(v_made) as m (id);
    insert into target_activity (bucket, accepted, target_id, org_id, at_ms)
    values (v_bucket, cardinality(v_made), p_target, p_org, p_now_ms);
  end if;
  insert into replay_pending (replay_id, event_id, due_at)
  select p_replay, m.id, p_now_ms + 500
  from unnest(v_made) as m (id);
  return v_made;
end
$$;
