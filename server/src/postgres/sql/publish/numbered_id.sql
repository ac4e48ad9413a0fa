-- The id with this number (below 65,536) among the ids of a batch, which differ only in number and bucket. Consecutive ids cost
-- less to make than random ones, and in this order they take little more than their bytes in an index.
create function numbered_id(p_id uuid, p_number integer, p_bucket integer)
returns uuid language sql immutable as $$
  select (left(p_id::text, 30) || lpad(to_hex(p_number * 256 + p_bucket), 6, '0'))::uuid
$$;
