-- Which publication an idempotency key stands for. The key is written, to the days that accept_items writes to, where
-- p_may_win. Gives this publication's id where nobody had it before.
create function publication_winner(
  p_bucket smallint,
  p_key_digest uuid,
  p_body_digest uuid,
  p_id uuid,
  p_may_win boolean,
  p_now_ms bigint,
  out id uuid,
  out body_digest uuid
) language plpgsql as $$
declare
  -- As in accept_items: around midnight a key is of two days.
  v_first_day integer := (p_now_ms - 60000) / 86400000;
  v_last_day integer := (p_now_ms + 60000) / 86400000;
begin
  if p_may_win then
    insert into idempotency_keys (bucket, day, key_digest, body_digest, event_id)
    select p_bucket, d.day, p_key_digest, p_body_digest, p_id
    from generate_series(v_first_day, v_last_day) as d (day)
    -- A key of an earlier day keeps its publication.
    where not exists (
      select
      from idempotency_keys k
      where k.bucket = p_bucket
        and k.key_digest = p_key_digest
        and k.day between v_first_day - 1 and v_first_day
    )
    order by d.day
    on conflict do nothing;
  end if;
  -- A statement of its own, because the one above cannot see the row of a concurrent winner.
  select k.event_id, k.body_digest
  into id, body_digest
  from idempotency_keys k
  where k.bucket = p_bucket
    and k.key_digest = p_key_digest
    and k.day between v_first_day - 1 and v_last_day
  order by k.event_id = p_id, k.day
  limit 1;
  if not found then
    id := p_id;
    return;
  end if;
  if id <> p_id then
    -- The loser's other day would later name a publication that never was: it becomes the winner's.
    update idempotency_keys k
    set event_id = publication_winner.id,
      body_digest = publication_winner.body_digest
    where k.bucket = p_bucket
      and k.key_digest = p_key_digest
      and k.day between v_first_day and v_last_day
      and k.event_id = p_id;
  end if;
end
$$;
