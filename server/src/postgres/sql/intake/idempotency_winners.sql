-- Claims the idempotency keys of a batch. Returns for each element the id that is stored under its key and the digest of that
-- item's body; null for an element without a key, or with an unknown key that was only looked up. Returns null instead of
-- both arrays when every element claimed its own key. Where p_may_claim is false, the key is only looked up; null instead of
-- the array means true for all elements.
--
-- Keys are stored by day, so that they expire with their partition. The day is taken from the database's clock, which all
-- nodes share. During the minute after midnight a key is also written to the previous day, during the minute before midnight
-- to the next day; a statement takes at most half a minute. So two overlapping statements always have one day in common, in
-- which the primary key lets only one of them win.
create function idempotency_winners(
  p_key_digests uuid[],
  p_body_digests uuid[],
  p_ids uuid[],
  p_may_claim boolean[],
  p_now_ms bigint,
  out winners uuid[],
  out winner_bodies uuid[]
) language plpgsql as $$
declare
  v_first_day integer := (p_now_ms - 60000) / 86400000;
  v_last_day integer := (p_now_ms + 60000) / 86400000;
  -- A key of the current day is found by ON CONFLICT. Around midnight two days are current, and both are checked.
  v_last_checked_day integer := case when v_first_day = v_last_day then v_first_day - 1 else v_last_day end;
  v_claimed integer;
begin
  -- Sorted, so that two nodes that claim the same keys cannot deadlock.
  insert into idempotency_keys (bucket, day, key_digest, body_digest, event_id)
  select get_byte(uuid_send(p_ids[n]), 15), d.day, p_key_digests[n], p_body_digests[n], p_ids[n]
  from generate_series(1, cardinality(p_ids)) as n
  cross join generate_series(v_first_day, v_last_day) as d (day)
  where p_key_digests[n] is not null
    and (p_may_claim is null or p_may_claim[n])
    -- A key of an earlier day keeps its item: a second row would name an item that was never stored.
    and not exists (
      select
      from idempotency_keys k
      where k.bucket = get_byte(uuid_send(p_ids[n]), 15)
        and k.key_digest = p_key_digests[n]
        and k.day between v_first_day - 1 and v_last_checked_day
    )
  order by p_key_digests[n], d.day, n
  on conflict do nothing;
  get diagnostics v_claimed = row_count;

  -- Where every key was claimed, each element is its own winner, and there is nothing to look up.
  if v_first_day = v_last_day and v_claimed = cardinality(array_remove(p_key_digests, null)) then
    return;
  end if;

  -- A statement of its own, because the one above cannot see the row of a concurrent winner.
  select array_agg(w.event_id order by i.n), array_agg(w.body_digest order by i.n)
  into winners, winner_bodies
  from unnest(p_key_digests, p_ids) with ordinality as i (key_digest, id, n)
  left join lateral (
    select k.event_id, k.body_digest
    from idempotency_keys k
    where i.key_digest is not null
      and k.bucket = get_byte(uuid_send(i.id), 15)
      and k.key_digest = i.key_digest
      and k.day between v_first_day - 1 and v_last_day
    -- Around midnight two statements may each have written a different day. An element wins only when its own id is stored in
    -- all days, so rows with another id come first.
    order by k.event_id = i.id, k.day
    limit 1
  ) w on true;

  if v_first_day <> v_last_day then
    -- When an element lost one day but wrote the other, its row would name an item that is never stored: that row gets the
    -- winner's id.
    update idempotency_keys k
    set event_id = i.winner_id,
      body_digest = i.winner_body
    from unnest(p_key_digests, p_ids, winners, winner_bodies) as i (key_digest, id, winner_id, winner_body)
    where k.bucket = get_byte(uuid_send(i.id), 15)
      and k.key_digest = i.key_digest
      and k.day between v_first_day and v_last_day
      and k.event_id = i.id
      and i.winner_id <> i.id;
  end if;
end
$$;
