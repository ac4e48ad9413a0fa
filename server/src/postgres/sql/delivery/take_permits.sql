-- Gives a node permits for attempts at targets with a rate limit, and shares of the requests in flight to targets with a limit
-- on concurrent requests. p_target_ids is in ascending order, so that two nodes cannot deadlock. Returns one row for
-- each target that exists.
--
-- A permit allows one attempt to begin at a certain moment: the first permit at first_in_us from now, each further one
-- interval_us later. Permits for past moments may be used at once. All nodes get permits in order, by the clock of the
-- database: at most `burst` at once after a pause, and none for a moment more than p_ahead_ms away, which is at most
-- p_most_ahead_ms. When no permit is given, first_in_us is the time until the moment of the next one. interval_us is null
-- when the rate is not limited.
--
-- requests: the number of requests that the node may have in flight during the next p_lease_ms; null when there is no limit.
-- The shares of all nodes together never exceed the limit.
create function take_permits(
  p_node uuid,
  p_target_ids uuid[],
  p_permits integer[],
  p_requests integer[],
  p_ahead_ms integer,
  p_most_ahead_ms integer,
  p_lease_ms integer
)
returns table (
  target uuid,
  permits integer,
  first_in_us bigint,
  interval_us double precision,
  burst integer,
  requests integer
) language plpgsql as $$
declare
  v_target record;
  v_bucket smallint;
  v_now bigint;
  v_next bigint;
  v_others integer;
begin
  for i in 1 .. cardinality(p_target_ids) loop
    select
      t.id,
      1000000 / t.rate_limit_per_second as interval_us,
      coalesce(t.rate_limit_burst, greatest(1, floor(t.rate_limit_per_second / 10)))::integer as burst,
      t.max_concurrency
    into v_target
    from targets t
    where t.id = p_target_ids[i];
    continue when not found;

    v_bucket := get_byte(uuid_send(v_target.id), 15);
    insert into target_paces (bucket, target_id, next_at)
    values (v_bucket, v_target.id, 0)
    on conflict do nothing;
    select p.next_at
    into v_next
    from target_paces p
    where p.bucket = v_bucket
      and p.target_id = v_target.id
    for update;
    -- The clock is read after the lock was acquired: during the wait, another node may have taken permits for later moments.
    v_now := extract(epoch from clock_timestamp()) * 1000000;

    target := v_target.id;
    interval_us := v_target.interval_us;
    burst := v_target.burst;
    requests := null;
    if v_target.max_concurrency is not null then
      select coalesce(sum(s.requests), 0)
      into v_others
      from target_shares s
      where s.bucket = v_bucket
        and s.target_id = v_target.id
        and s.node_id <> p_node
        and s.until_ms > v_now / 1000;
      requests := greatest(0, least(p_requests[i], v_target.max_concurrency - v_others));
      if requests > 0 then
        insert into target_shares as s (bucket, target_id, node_id, requests, until_ms)
        values (v_bucket, v_target.id, p_node, requests, v_now / 1000 + p_lease_ms)
        on conflict (bucket, target_id, node_id) do update
        set requests = excluded.requests,
          until_ms = excluded.until_ms;
      else
        delete from target_shares s
        where s.bucket = v_bucket
          and s.target_id = v_target.id
          and s.node_id = p_node;
      end if;
    end if;

    permits := 0;
    first_in_us := 0;
    if interval_us is not null then
      -- next_at is later only if it was stored under an earlier rate limit that was lower, or before the database's clock was
      -- set back.
      if v_next > v_now + p_most_ahead_ms * 1000 + ceil(interval_us) then
        v_next := v_now;
      end if;
      v_next := greatest(v_next, v_now - floor((burst - 1) * interval_us));
      first_in_us := v_next - v_now;
      -- A node without a share cannot use permits.
      if requests is distinct from 0 then
        permits := greatest(0, least(p_permits[i], floor((p_ahead_ms * 1000 - first_in_us) / interval_us) + 1));
      end if;
      if permits > 0 then
        v_next := v_next + round(permits * interval_us);
        update target_paces p
        set next_at = v_next
        where p.bucket = v_bucket
          and p.target_id = v_target.id;
      end if;
    end if;
    return next;
  end loop;
end
$$;
