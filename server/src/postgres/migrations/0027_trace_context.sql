-- Where an item's trace goes on: the 16 bytes of its trace's id, the 8 of the span that accepted it, and the flags. A
-- replay and the result of a handoff have their source's. Null where nothing was traced, and costs nothing then.
alter table events add column trace_context bytea;
