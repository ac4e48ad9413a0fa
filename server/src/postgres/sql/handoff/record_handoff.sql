-- Records the state of an agent's task. p_fingerprint is null when the task has not changed. An outcome ends the polling and
-- stores the result as an item of the target for results, in the same transaction and so exactly once; results are not
-- billed and never go to an agent. Without an outcome the next poll is scheduled.
-- p_lease_token is the lease of a poll, null for a caller without one. Codes:
--   r recorded
--   a accepted before: the first acceptance stays, and with another task there is a duplicate
--   e ended before: nothing changes any more
--   l the poll's lease has passed to another holder
--   n there is no such handoff
--   t the target of results has changed: read it again
create function record_handoff(
  p_event_id uuid,
  p_is_acceptance boolean,
  p_lease_token bigint,
  p_task_id text,
  p_context_id text,
  p_state text,
  p_status_message text,
  p_status_parts text,
  p_artifacts text,
  p_is_truncated boolean,
  p_fingerprint text,
  p_follow_error text,
  p_outcome text,
  p_poll_in_ms bigint,
  p_deadline_in_ms bigint,
  p_result_target uuid,
  p_result_id uuid,
  p_result_type text,
  p_result_payload bytea
)
returns text language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_bucket smallint := get_byte(uuid_send(p_event_id), 15);
  v_handoff record;
  v_target record;
  v_event record;
  v_result_target uuid;
begin
  select h.org_id, h.target_id, h.accepted_at, h.outcome, h.state, h.status_message
  into v_handoff
  from handoffs h
  where h.bucket = v_bucket
    and h.event_id = p_event_id
  for update;
  if not found then
    delete from handoff_polls p
    where p.bucket = v_bucket
      and p.event_id = p_event_id;
    return 'n';
  end if;
  if p_is_acceptance and v_handoff.accepted_at is not null then
    update handoffs h
    set possible_duplicate = true
    where h.bucket = v_bucket
      and h.event_id = p_event_id
      and (p_task_id is null or h.task_id is distinct from p_task_id);
    return 'a';
  end if;
  if v_handoff.outcome is not null then
    return 'e';
  end if;
  if p_lease_token is not null and not exists (
    select
    from handoff_polls p
    where p.bucket = v_bucket
      and p.event_id = p_event_id
      and p.lease_token = p_lease_token
  ) then
    return 'l';
  end if;

  if p_outcome is not null then
    select c.result_target_id
    into v_result_target
    from agent_cards c
    where c.target_id = v_handoff.target_id;
    if v_result_target is distinct from p_result_target then
      return 't';
    end if;
  end if;

  update handoffs h
  set unanswered_since = null,
    accepted_at = coalesce(h.accepted_at, v_now_ms),
    task_id = case when p_fingerprint is null then h.task_id else p_task_id end,
    context_id = case when p_fingerprint is null then h.context_id else p_context_id end,
    state = case when p_fingerprint is null then h.state else p_state end,
    status_message = case when p_fingerprint is null then h.status_message else p_status_message end,
    status_parts = case when p_fingerprint is null then h.status_parts else p_status_parts end,
    artifacts = case when p_fingerprint is null then h.artifacts else p_artifacts end,
    is_truncated = case when p_fingerprint is null then h.is_truncated else p_is_truncated end,
    fingerprint = coalesce(p_fingerprint, h.fingerprint),
    follow_error = p_follow_error,
    outcome = p_outcome,
    updated_at = v_now_ms
  where h.bucket = v_bucket
    and h.event_id = p_event_id;
  if p_fingerprint is not null
    and p_state in ('INPUT_REQUIRED', 'AUTH_REQUIRED')
    and (v_handoff.state, v_handoff.status_message) is distinct from (p_state, p_status_message)
  then
    perform note_operational_event(
      'handoff.input_required', v_handoff.org_id, v_handoff.target_id, array[p_event_id], 'the task is ' || p_state
    );
  end if;

  if p_outcome is null then
    insert into handoff_polls (bucket, event_id, target_id, due_at, deadline_at)
    values (v_bucket, p_event_id, v_handoff.target_id, v_now_ms + p_poll_in_ms, v_now_ms + p_deadline_in_ms)
    on conflict (bucket, event_id) do update
    set polls = 0,
      missing = 0,
      -- due_at is 0 when the agent reported a change while this poll was in progress: the next poll is then due at once.
      due_at = case when handoff_polls.due_at = 0 then 0 else excluded.due_at end,
      deadline_at = excluded.deadline_at,
      -- The lease of an answer, whose token is negative, stays until the answer ends it.
      lease_until = case when handoff_polls.lease_token < 0 then handoff_polls.lease_until end,
      lease_token = case when handoff_polls.lease_token < 0 then handoff_polls.lease_token end;
    return 'r';
  end if;

  delete from handoff_polls p
  where p.bucket = v_bucket
    and p.event_id = p_event_id;

  -- The lock prevents the target from being deleted before its item exists and can be canceled.
  select t.id, t.kind, t.max_retries, t.event_types
  into v_target
  from targets t
  where t.id = v_result_target
    and t.org_id = v_handoff.org_id
    and not is_handoff(kind_number(t.kind))
  for key share;
  if not found then
    return 'r';
  end if;

  select e.correlation_id, e.trace_context
  into v_event
  from events e
  where e.bucket = v_bucket
    and e.target_id = v_handoff.target_id
    and e.id = p_event_id;
  if not found then
    return 'r';
  end if;
  insert into events (
    bucket, kind, max_retries, billable, target_id, id, org_id, event_type, correlation_id, payload,
    trace_context
  )
  values (
    get_byte(uuid_send(p_result_id), 15), kind_number(v_target.kind), v_target.max_retries, false, v_target.id,
    p_result_id, v_handoff.org_id, p_result_type, v_event.correlation_id, p_result_payload, v_event.trace_context
  );
  update handoffs h
  set result_event_id = p_result_id
  where h.bucket = v_bucket
    and h.event_id = p_event_id;

  if not is_pulled(kind_number(v_target.kind)) then
    -- A message is counted by put_message instead.
    insert into target_activity (bucket, accepted, target_id, org_id, at_ms)
    values (get_byte(uuid_send(p_result_id), 15), 1, v_target.id, v_handoff.org_id, v_now_ms);
  end if;
  if is_pulled(kind_number(v_target.kind)) then
    perform put_message(v_target.id, p_result_id, v_now_ms);
  elsif not matches_event_types(v_target.event_types, p_result_type) then
    insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
    values (
      get_byte(uuid_send(p_result_id), 15), 'FILTERED', p_result_id, v_handoff.org_id, v_target.id, v_now_ms
    );
  else
    insert into deliveries (bucket, kind, id, target_id, org_id, due_at, event_ids)
    values (
      get_byte(uuid_send(p_result_id), 15), kind_number(v_target.kind), p_result_id, v_target.id, v_handoff.org_id,
      v_now_ms, array[p_result_id]
    );
  end if;
  return 'r';
end
$$;
