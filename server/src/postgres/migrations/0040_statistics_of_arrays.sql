-- Of an array ANALYZE counts every element: of a partition of delivered_groups with a million of them for three to five
-- seconds of a core, for conditions that no query has. This reaches the partitions that there are, which had not inherited it
-- from their parent; later ones get it when they are made.
alter table delivered_groups
  alter column event_ids set statistics 0,
  alter column status_codes set statistics 0,
  alter column durations_ms set statistics 0,
  alter column attempted_at set statistics 0,
  alter column response_bodies set statistics 0,
  alter column header_sets set statistics 0;
alter table deliveries
  alter column event_ids set statistics 0;
alter table activity_steps
  alter column latency_ranges set statistics 0,
  alter column latency_counts set statistics 0;
alter table target_activity
  alter column latencies set statistics 0;
