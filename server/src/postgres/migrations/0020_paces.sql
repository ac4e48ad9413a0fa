-- How fast and how broad a target is sent to, as its owner sets it; null: as the service does by itself.
alter table targets
  add column rate_limit_per_second double precision,
  -- How many attempts may begin at once after a pause; null: a tenth of a second's worth, at least one.
  add column rate_limit_burst integer,
  add column max_concurrency smallint,
  add constraint targets_pace check (
    (rate_limit_per_second is null or rate_limit_per_second > 0)
    and (rate_limit_burst is null or rate_limit_burst > 0)
    and (max_concurrency is null or max_concurrency between 1 and 256)
  );

-- Of each target with such a limit, up to which moment permits to begin an attempt are given out. Its row is also the lock
-- under which nodes take permits and shares. After a crash of the database it is empty, and a burst may begin anew.
create unlogged table target_paces (
  bucket smallint not null,
  target_id uuid not null,
  -- Unix microseconds: the next permit is for this moment, or a later one.
  next_at bigint not null,
  primary key (bucket, target_id)
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- Of each target with a bound on its requests under way, how many of them a node may have until when.
create table target_shares (
  bucket smallint not null,
  target_id uuid not null,
  node_id uuid not null,
  requests smallint not null,
  -- Unix milliseconds; what the node began has ended before.
  until_ms bigint not null,
  primary key (bucket, target_id, node_id)
);
