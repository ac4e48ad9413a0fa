-- Gives leased deliveries back unattempted, to whoever claims next: at shutdown, and when an item has waited in
-- memory so long that its lease might not outlive an attempt.
drop function if exists release_deliveries;
create function release_deliveries(
  p_event_ids uuid[],
  p_lease_tokens bigint[]
)
returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_count integer;
begin
  update deliveries d
  set lease_until = null,
    lease_token = null
  from unnest(p_event_ids, p_lease_tokens) as i (event_id, lease_token)
  where d.bucket = get_byte(uuid_send(i.event_id), 15)
    and d.event_id = i.event_id
    and d.lease_token = i.lease_token;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

-- Takes over what a dead or stalled node held: leases that have run out become due again.
drop function if exists sweep_leases;
create function sweep_leases()
returns integer
language plpgsql
as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  update deliveries d
  set lease_until = null,
    lease_token = null
  where d.lease_until < v_now_ms;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
