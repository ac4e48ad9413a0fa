-- The id of the row of deliveries that so many items wait in: a single item's own; of several the first one's with another
-- version, which no item has.
create function row_of_items(p_first uuid, p_items bigint)
returns uuid language sql immutable as $$
  select case when p_items = 1 then p_first else overlay(p_first::text placing '8' from 15)::uuid end
$$;
