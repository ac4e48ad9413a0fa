-- Percentiles beside the counts that they were worked out of: a page of statistics reads three numbers of each step in
-- place of some fifty. Null in steps that were written before, or by a version before: their counts are read.
alter table activity_steps
  -- The ranges that the percentiles lie in, as latencyRanges.ts numbers them.
  add column p50_range smallint,
  add column p95_range smallint,
  add column p99_range smallint,
  -- Of how many deliveries. A version before adds deliveries to a step and leaves this as it was, so that what differs
  -- from `delivered` is known to be out of date.
  add column measured bigint;
