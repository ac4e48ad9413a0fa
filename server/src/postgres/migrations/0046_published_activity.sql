-- What publications brought to targets: one row for up to 64 of them, where target_activity has one for each. Written with the
-- items and folded by maintenance, as those are; a process of a version before passes these rows over.
create table published_activity (
  -- The organization's.
  bucket smallint not null,
  org_id uuid not null,
  -- Unix milliseconds.
  at_ms bigint not null,
  -- The targets, and how many items were accepted for each.
  target_ids uuid[] not null,
  accepted smallint[] not null
) with (
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);
alter table published_activity
  -- Within the row, never compressed or apart.
  alter column target_ids set storage plain,
  alter column accepted set storage plain,
  alter column target_ids set statistics 0,
  alter column accepted set statistics 0;
-- As that of usage_records.
alter table published_activity replica identity full;
