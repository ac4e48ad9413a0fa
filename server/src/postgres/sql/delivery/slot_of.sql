-- The slot of an id: the 1,024 ms in which it was created (`slotOf` in ids.ts).
create function slot_of(p_id uuid)
returns bigint
language sql
immutable
parallel safe
as $$
  select ('x' || substr(p_id::text, 1, 8) || substr(p_id::text, 10, 4))::bit(48)::bigint >> 10
$$;
