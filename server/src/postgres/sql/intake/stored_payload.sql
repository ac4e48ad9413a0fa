-- The payload of an event: its own, or that of its publication, which is stored once for all of its items. Empty once it was
-- erased. An expression that the planner inlines, so that only items of publications pay for the look-up.
create function stored_payload(p_publication uuid, p_payload bytea)
returns bytea language sql stable as $$
  select case when p_publication is null then p_payload else publication_payload(p_publication) end
$$;
