-- The targets that a publication reaches, an element each, in the order of their ids.
create type publication_targets as (
  ids uuid[],
  kinds smallint[],
  versions bigint[],
  max_retries smallint[],
  -- Disabled: what comes waits until they are enabled.
  held boolean[],
  -- The bytes that all of them take, and the one that takes no more.
  max_bytes integer,
  smallest uuid,
  -- Filters among theirs by which the publication was not judged; null where there is none.
  unjudged text[]
);
