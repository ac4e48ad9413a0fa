-- Cancels the unleased deliveries of one deleted target: whole rows, in the order of due_at, until at least p_limit items are
-- canceled or none is left. Returns the number of canceled items.
create function cancel_deliveries(
  p_bucket smallint,
  p_target uuid,
  p_limit integer
)
returns integer language plpgsql as $$
declare
  v_ids uuid[];
begin
  v_ids := array(
    select d.id
    from (
      select
        w.ctid as tid,
        cardinality(w.event_ids) as items,
        sum(cardinality(w.event_ids)) over (order by w.due_at rows unbounded preceding) as total
      from (
        select x.ctid, x.event_ids, x.due_at
        from deliveries x
        where x.bucket = p_bucket
          and x.target_id = p_target
          and x.lease_until is null
        order by x.due_at
        limit p_limit
      ) w
    ) first
    cross join lateral (
      select l.id
      from deliveries l
      where l.ctid = first.tid
        and l.bucket = p_bucket
        and l.lease_until is null
      for update skip locked
    ) d
    where first.total - first.items < p_limit
  );
  return cancel_locked_deliveries(p_bucket, p_target, v_ids);
end
$$;
