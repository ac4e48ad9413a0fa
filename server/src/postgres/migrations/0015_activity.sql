-- What happens at targets, for statistics that need not count anything when they are read.

-- One row for each target of a batch, written in the transaction of the work itself and folded by maintenance. Nothing
-- is updated, so that no two transactions meet in a row.
create table target_activity (
  bucket smallint not null,
  accepted integer not null default 0,
  delivered integer not null default 0,
  retried integer not null default 0,
  failed integer not null default 0,
  target_id uuid not null,
  org_id uuid not null,
  -- Unix milliseconds.
  at_ms bigint not null,
  -- Of each item that was delivered, the number of the range that its latency lies in; `latencyRanges.ts` has them.
  latencies smallint[]
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
alter table target_activity
  alter column latencies set storage plain,
  alter column latencies set statistics 0;

-- The same in steps of time, of each target and of all targets of an organization.
create table activity_steps (
  -- A target, or an organization.
  scope_id uuid not null,
  org_id uuid not null,
  -- Seconds: 60, 300, 3600 or 86400.
  step integer not null,
  -- Unix seconds of its beginning, a multiple of the step.
  at bigint not null,
  accepted bigint not null,
  delivered bigint not null,
  retried bigint not null,
  failed bigint not null,
  -- Unix milliseconds of the last attempt, and of the last that delivered.
  last_attempt_at bigint,
  last_success_at bigint,
  -- How many deliveries had a latency in each range; ascending, without the empty ones.
  latency_ranges smallint[] not null,
  latency_counts bigint[] not null,
  primary key (scope_id, step, at)
) with (fillfactor = 70);
-- For what is past its retention.
create index activity_steps_age on activity_steps (step, at);
