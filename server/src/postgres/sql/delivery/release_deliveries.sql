-- Releases leased items that were not attempted, so that they can be claimed again: at shutdown, and when an item has waited
-- in memory so long that its lease might end before an attempt does. The parameters name rows and items as in
-- finish_deliveries. Items that stay with the caller keep the row; if some stay, the released ones get a new row with the id
-- p_spare_ids[r]. Returns the number of released items.
create function release_deliveries(
  p_row_ids uuid[],
  p_row_tokens bigint[],
  p_row_ends smallint[],
  p_spare_ids uuid[],
  p_event_ids uuid[]
)
returns integer language plpgsql as $$
declare
  v_count integer := 0;
  v_row record;
begin
  for v_row in
    update deliveries d
    set event_ids = case when h.kept = '{}' then d.event_ids else h.kept end,
      lease_until = case when h.kept <> '{}' then d.lease_until end,
      lease_token = case when h.kept <> '{}' then d.lease_token end
    from (
      select
        w.bucket,
        w.id,
        p_spare_ids[r] as spare_id,
        array(
          select i.id
          from unnest(w.event_ids) with ordinality as i (id, n)
          where i.id <> all (given.ids)
          order by i.n
        ) as kept,
        array(
          select i.id
          from unnest(w.event_ids) with ordinality as i (id, n)
          where i.id = any (given.ids)
          order by i.n
        ) as spared
      from generate_series(1, cardinality(p_row_ids)) as r
      cross join lateral (
        select p_event_ids[coalesce(p_row_ends[r - 1], 0) + 1 : p_row_ends[r]] as ids
      ) given
      cross join lateral (
        select l.bucket, l.id, l.event_ids
        from deliveries l
        where l.bucket = get_byte(uuid_send(p_row_ids[r]), 15)
          and l.id = p_row_ids[r]
          and l.lease_token = p_row_tokens[r]
        for update
      ) w
    ) h
    where d.bucket = h.bucket
      and d.id = h.id
      and h.spared <> '{}'
    returning
      d.bucket, d.kind, d.attempts, d.schedule_attempts, d.target_id, d.org_id, d.due_at, h.spare_id, h.kept, h.spared
  loop
    v_count := v_count + cardinality(v_row.spared);
    if v_row.kept <> '{}' then
      insert into deliveries (
        bucket, kind, attempts, schedule_attempts, id, target_id, org_id, due_at, event_ids
      )
      values (
        v_row.bucket, v_row.kind, v_row.attempts, v_row.schedule_attempts, v_row.spare_id, v_row.target_id,
        v_row.org_id, v_row.due_at, v_row.spared
      );
    end if;
  end loop;
  return v_count;
end
$$;
