-- Erases all data about one event that came from its receiver, its agent or users: answers and errors of its attempts (in
-- `attempts` and `delivered_groups`), messages and artifacts of its agent, requests that the tryout receiver stored, and
-- reasons that users gave. Its task is not polled any more, and a handoff that its agent has not accepted yet is deleted, so
-- that later answers are not recorded. The callers set planner options, which this function inherits.
create function erase_answers(
  p_bucket smallint,
  p_org uuid,
  p_target uuid,
  p_id uuid,
  p_now_ms bigint
)
returns void language plpgsql as $$
begin
  -- Two statements, because each uses its own partial index.
  update attempts a
  set response_body = null
  where a.org_id = p_org
    and a.event_id = p_id
    and a.outcome = 1;
  update attempts a
  set response_body = null,
    -- The error may quote the receiver's answer.
    error = 'erased'
  where a.org_id = p_org
    and a.event_id = p_id
    and a.outcome <> 1;
  update delivered_groups g
  set response_bodies[array_position(g.event_ids, p_id)] = null
  where g.bucket = p_bucket
    and g.target_id = p_target
    and g.last_id >= p_id
    and g.last_id < first_id_at((slot_of(p_id) + 1) * 1024)
    and p_id = any (g.event_ids)
    and g.response_bodies is not null;

  delete from handoffs h
  where h.bucket = p_bucket
    and h.event_id = p_id
    and h.accepted_at is null;
  update handoffs h
  set status_message = null,
    status_parts = null,
    artifacts = null,
    is_truncated = false,
    fingerprint = null,
    follow_error = 'the event was erased',
    outcome = coalesce(h.outcome, 'UNKNOWN'),
    -- An ended task keeps the moment of its end, at which its result was created.
    updated_at = case when h.outcome is null then p_now_ms else h.updated_at end
  where h.bucket = p_bucket
    and h.event_id = p_id;
  delete from handoff_polls p
  where p.bucket = p_bucket
    and p.event_id = p_id;

  delete from tryout_requests r
  where r.target_id = p_target
    and r.event_id = p_id;
  update message_interventions n
  set reason = null
  where n.bucket = p_bucket
    and n.message_id = p_id;
end
$$;
