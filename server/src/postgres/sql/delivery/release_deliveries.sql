-- Gives leased items back unattempted, to whoever claims next: at shutdown, and when an item has waited in
-- memory so long that its lease might not outlive an attempt. Rows and items as in finish_deliveries. What stays with
-- the caller keeps the row; what is given back beside it gets p_spare_ids[r].
create function release_deliveries(
  p_row_ids uuid[],
  p_row_tokens bigint[],
  p_row_ends smallint[],
  p_spare_ids uuid[],
  p_event_ids uuid[]
)
returns integer language plpgsql as $$
declare
  v_count integer;
begin
  with held as materialized (
    select
      p_spare_ids[r] as spare_id,
      d.*,
      array(
        select i.id
        from unnest(d.event_ids) with ordinality as i (id, n)
        where i.id <> all (p_event_ids[coalesce(p_row_ends[r - 1], 0) + 1 : p_row_ends[r]])
        order by i.n
      ) as kept
    from generate_series(1, cardinality(p_row_ids)) as r
    cross join lateral (
      select w.bucket, w.kind, w.id, w.attempts, w.schedule_attempts, w.target_id, w.org_id, w.due_at, w.event_ids
      from deliveries w
      where w.bucket = get_byte(uuid_send(p_row_ids[r]), 15)
        and w.id = p_row_ids[r]
        and w.lease_token = p_row_tokens[r]
      for update
    ) d
  ),
  changed as (
    update deliveries d
    set event_ids = case when h.kept = '{}' then d.event_ids else h.kept end,
      lease_until = case when h.kept <> '{}' then d.lease_until end,
      lease_token = case when h.kept <> '{}' then d.lease_token end
    from held h
    where d.bucket = h.bucket
      and d.id = h.id
      and cardinality(h.kept) < cardinality(h.event_ids)
  ),
  parted as (
    insert into deliveries (
      bucket, kind, attempts, schedule_attempts, id, target_id, org_id, due_at, event_ids
    )
    select
      h.bucket,
      h.kind,
      h.attempts,
      h.schedule_attempts,
      h.spare_id,
      h.target_id,
      h.org_id,
      h.due_at,
      array(
        select i.id
        from unnest(h.event_ids) with ordinality as i (id, n)
        where i.id <> all (h.kept)
        order by i.n
      )
    from held h
    where h.kept <> '{}'
      and cardinality(h.kept) < cardinality(h.event_ids)
  )
  select coalesce(sum(cardinality(h.event_ids) - cardinality(h.kept)), 0)
  into v_count
  from held h;
  return v_count;
end
$$;
