-- Records a batch of attempts and moves each delivery on: gone when delivered or failed for good, due again
-- when it is to be retried. Only the holder of the lease's token changes anything; a late finisher's rows match
-- nothing and leave no attempt. Gives null when all elements matched, and else the 1-based numbers of those that did,
-- with commas between.
--
-- Outcomes: 1 delivered, 2 retry after p_delays_ms, 3 failed. A retry whose target was deleted meanwhile is canceled
-- by the claim that meets it. p_errors and p_response_bodies may be null where no element has any.
drop function if exists finish_deliveries;
create function finish_deliveries(
  p_event_ids uuid[],
  p_lease_tokens bigint[],
  p_outcomes smallint[],
  p_delays_ms bigint[],
  p_attempted_at bigint[],
  p_durations_ms integer[],
  p_status_codes smallint[],
  p_errors text[],
  p_response_bodies bytea[]
)
returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_matched text;
begin
  -- By subscripts: unnesting this many arrays keeps a copy of each.
  with input as (
    select
      n as ord,
      get_byte(uuid_send(p_event_ids[n]), 15)::smallint as bucket,
      p_event_ids[n] as event_id,
      p_lease_tokens[n] as lease_token,
      p_outcomes[n] as outcome,
      p_delays_ms[n] as delay_ms
    from generate_series(1, cardinality(p_event_ids)) as n
  ),
  ended as (
    delete from deliveries d
    using input i
    where d.bucket = i.bucket
      and d.event_id = i.event_id
      and d.lease_token = i.lease_token
      and i.outcome <> 2
    returning i.ord, d.bucket, d.event_id, d.org_id, d.target_id, (d.attempts + 1)::smallint as number
  ),
  again as (
    update deliveries d
    set attempts = d.attempts + 1,
      schedule_attempts = d.schedule_attempts + 1,
      due_at = v_now_ms + i.delay_ms,
      lease_until = null,
      lease_token = null
    from input i
    where d.bucket = i.bucket
      and d.event_id = i.event_id
      and d.lease_token = i.lease_token
      and i.outcome = 2
    returning i.ord, d.bucket, d.event_id, d.org_id, d.target_id, d.attempts as number
  ),
  moved as (
    select * from ended
    union all
    select * from again
  ),
  recorded as (
    insert into attempts (
      bucket, number, outcome, status_code, duration_ms, event_id, org_id, target_id, attempted_at, error,
      response_body
    )
    select
      m.bucket,
      m.number,
      p_outcomes[m.ord],
      p_status_codes[m.ord],
      p_durations_ms[m.ord],
      m.event_id,
      m.org_id,
      m.target_id,
      p_attempted_at[m.ord],
      p_errors[m.ord],
      p_response_bodies[m.ord]
    from moved m
  ),
  failed as (
    insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
    select m.bucket, 'FAILED', m.event_id, m.org_id, m.target_id, v_now_ms
    from moved m
    where p_outcomes[m.ord] = 3
    on conflict do nothing
  )
  select
    case
      when count(*) < cardinality(p_event_ids) then coalesce(array_to_string(array_agg(m.ord), ','), '')
    end
  into v_matched
  from moved m;
  return v_matched;
end
$$;
