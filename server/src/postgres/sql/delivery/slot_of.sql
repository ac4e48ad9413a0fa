-- The stretch of 1,024 ms that an id was made in; ids.ts has it as slotOf.
create function slot_of(p_id uuid)
returns bigint
language sql
immutable
parallel safe
as $$
  select ('x' || substr(p_id::text, 1, 8) || substr(p_id::text, 10, 4))::bit(48)::bigint >> 10
$$;
