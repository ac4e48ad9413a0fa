-- The next target in the order (bucket, target_id) that has something waiting without a lease, with what is due first: one
-- step of the index deliveries_due, however many rows the target has. It starts again from bucket -1. Inlined where it is
-- used, so that it costs no call.
create function waiting_after(p_bucket smallint, p_target uuid)
returns table (
  bucket smallint,
  target_id uuid,
  org_id uuid,
  due_at bigint,
  kind smallint,
  items integer
)
language sql
stable
as $$
  select d.bucket, d.target_id, d.org_id, d.due_at, d.kind, cardinality(d.event_ids)
  from deliveries d
  where d.lease_until is null
    and (d.bucket, d.target_id) > (p_bucket, p_target)
  order by d.bucket, d.target_id, d.due_at
  limit 1
$$;
