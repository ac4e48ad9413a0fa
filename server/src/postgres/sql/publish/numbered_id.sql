-- The id with this number, below 65,536, of those that a batch has in common but for it and for their buckets. Ids that follow
-- one another cost less to make than random ones, and an index that has them in this order little more than their bytes.
create function numbered_id(p_id uuid, p_number integer, p_bucket integer)
returns uuid language sql immutable as $$
  select (left(p_id::text, 30) || lpad(to_hex(p_number * 256 + p_bucket), 6, '0'))::uuid
$$;
