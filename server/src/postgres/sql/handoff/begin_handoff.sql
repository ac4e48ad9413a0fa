-- Records that the holder of the delivery's lease is about to send a message to an agent.
-- Codes:
--   s send it
--   u an earlier message, sent at unanswered_since, got no answer: look for its task before sending again
--   a the agent has accepted it before; only the record of the attempt was lost
--   l the lease has passed to another holder: do nothing
create function begin_handoff(
  p_row_id uuid,
  p_event_id uuid,
  p_lease_token bigint,
  out code text,
  out unanswered_since bigint
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_bucket smallint := get_byte(uuid_send(p_event_id), 15);
  v_delivery record;
  v_handoff record;
begin
  select d.org_id, d.target_id
  into v_delivery
  from deliveries d
  where d.bucket = v_bucket
    and d.id = p_row_id
    and d.lease_token = p_lease_token
    and p_event_id = any (d.event_ids)
  for key share;
  if not found then
    code := 'l';
    return;
  end if;

  insert into handoffs (bucket, event_id, org_id, target_id, unanswered_since, updated_at)
  values (v_bucket, p_event_id, v_delivery.org_id, v_delivery.target_id, v_now_ms, v_now_ms)
  on conflict do nothing;
  if found then
    code := 's';
    return;
  end if;

  select h.accepted_at, h.unanswered_since
  into v_handoff
  from handoffs h
  where h.bucket = v_bucket
    and h.event_id = p_event_id
  for update;
  if v_handoff.accepted_at is not null then
    code := 'a';
  elsif v_handoff.unanswered_since is not null then
    code := 'u';
    unanswered_since := v_handoff.unanswered_since;
  else
    code := 's';
    update handoffs h
    set unanswered_since = v_now_ms
    where h.bucket = v_bucket
      and h.event_id = p_event_id;
  end if;
end
$$;
