-- The id of the row of deliveries in which items wait: a single item's own id; for several items the first one's id with
-- another version number, which no item's id has.
create function row_of_items(p_first uuid, p_items bigint)
returns uuid language sql immutable as $$
  select case when p_items = 1 then p_first else overlay(p_first::text placing '8' from 15)::uuid end
$$;
