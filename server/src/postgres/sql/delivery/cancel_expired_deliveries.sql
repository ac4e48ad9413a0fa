-- Cancels items that still wait when their retention ends, such as those held for a disabled target: unleased items with ids
-- below p_before. Items with ids below p_from end when their day's partition is dropped. Visits each waiting target once, in
-- the order (bucket, target_id), and stops when at least p_limit items are canceled. Returns the number of canceled items.
create function cancel_expired_deliveries(
  p_from uuid,
  p_before uuid,
  p_limit integer
)
returns integer language plpgsql as $$
declare
  v_place record;
  v_bucket smallint := -1;
  v_target uuid := '00000000-0000-0000-0000-000000000000';
  v_tried integer;
  v_ids uuid[];
  v_count integer := 0;
begin
  while v_count < p_limit loop
    select d.bucket, d.target_id
    into v_place
    from deliveries d
    where d.lease_until is null
      and (d.bucket, d.target_id) > (v_bucket, v_target)
    order by d.bucket, d.target_id
    limit 1;
    exit when not found;
    v_bucket := v_place.bucket;
    v_target := v_place.target_id;

    -- The index deliveries_listed has untried rows before tried ones, both in the order of the ids of the rows' last items.
    for v_tried in 0..1 loop
      v_ids := array(
        select d.id
        from deliveries d
        where d.bucket = v_bucket
          and d.target_id = v_target
          and d.lease_until is null
          and least(d.attempts, 1) = v_tried
          and d.event_ids[cardinality(d.event_ids)] >= p_from
          and d.event_ids[cardinality(d.event_ids)] < p_before
        order by d.event_ids[cardinality(d.event_ids)]
        limit p_limit
        for update skip locked
      );
      v_count := v_count + cancel_locked_deliveries(v_bucket, v_target, v_ids);
    end loop;
  end loop;
  return v_count;
end
$$;
