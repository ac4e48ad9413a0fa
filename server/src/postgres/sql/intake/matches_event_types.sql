-- Whether a target with these event_types gets items of this type: an entry is a type, or a prefix that ends with `.*`; an
-- empty list matches every type.
create function matches_event_types(p_entries text[], p_event_type text)
returns boolean language sql immutable as $$
  select p_entries = '{}'
    or coalesce(p_event_type = any (p_entries), false)
    or exists (
      select
      from unnest(p_entries) as e
      where e like '%.*'
        and starts_with(p_event_type, left(e, -1))
    )
$$;
