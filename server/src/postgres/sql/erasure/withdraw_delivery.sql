-- Removes an item from the row of deliveries that contains it, leased or not. Another transaction may be moving the item to
-- another row, so the row that was found is locked and checked again. An item without a row has ended, and cannot wait again.
-- The callers set planner options, which this function inherits.
create function withdraw_delivery(
  p_bucket smallint,
  p_target uuid,
  p_id uuid,
  out is_busy boolean,
  out is_withdrawn boolean
) language plpgsql as $$
declare
  v_row_id uuid;
  v_event_ids uuid[];
begin
  is_busy := false;
  is_withdrawn := false;
  for v_try in 1..100 loop
    select w.id
    into v_row_id
    from (
      select d.id
      from deliveries d
      where d.bucket = p_bucket
        and d.id = p_id
      union all
      -- Untried items, which may share a row with others.
      select d.id
      from deliveries d
      where d.bucket = p_bucket
        and d.target_id = p_target
        and least(d.attempts, 1) = 0
        and d.event_ids[cardinality(d.event_ids)] >= p_id
        and d.event_ids[cardinality(d.event_ids)] < first_id_at((slot_of(p_id) + 1) * 1024)
        and d.lease_until is null
        and p_id = any (d.event_ids)
      union all
      select d.id
      from deliveries d
      where d.bucket = p_bucket
        and d.target_id = p_target
        and d.lease_until is not null
        and p_id = any (d.event_ids)
    ) w
    limit 1;
    if not found then
      return;
    end if;

    select d.event_ids
    into v_event_ids
    from deliveries d
    where d.bucket = p_bucket
      and d.id = v_row_id
      and p_id = any (d.event_ids)
    for update;
    continue when not found;
    if cardinality(v_event_ids) = 1 then
      delete from deliveries d
      where d.bucket = p_bucket
        and d.id = v_row_id;
    else
      update deliveries d
      set event_ids = array_remove(d.event_ids, p_id)
      where d.bucket = p_bucket
        and d.id = v_row_id;
    end if;
    is_withdrawn := true;
    return;
  end loop;
  is_busy := true;
end
$$;
