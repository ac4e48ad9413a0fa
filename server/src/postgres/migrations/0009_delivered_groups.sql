-- The attempts that delivered several items of one row of `deliveries` at the first try, recorded together: one row and
-- two index entries in place of as many as there are items. Every other attempt is in `attempts`.
create table delivered_groups (
  bucket smallint not null,
  target_id uuid not null,
  org_id uuid not null,
  -- The last of event_ids.
  last_id uuid not null,
  -- Ascending, and all of one 1,024 ms of their ids' clocks, as in `deliveries`. What follows has an element for each.
  event_ids uuid[] not null,
  status_codes smallint[] not null,
  durations_ms integer[] not null,
  -- Unix milliseconds.
  attempted_at bigint[] not null,
  -- At most 1 KiB of what the receiver answered; absent when it answered nothing to any.
  response_bodies bytea[],
  primary key (bucket, target_id, last_id)
) partition by range (last_id);

alter table delivered_groups
  -- Within the row, never compressed or apart.
  alter column event_ids set storage plain,
  alter column status_codes set storage plain,
  alter column durations_ms set storage plain,
  alter column attempted_at set storage plain,
  alter column event_ids set statistics 0,
  alter column status_codes set statistics 0,
  alter column durations_ms set statistics 0,
  alter column attempted_at set statistics 0,
  alter column response_bodies set statistics 0;

-- What is DELIVERED, newest first.
create index delivered_groups_org on delivered_groups (org_id, last_id);

-- Items of earlier days may still wait.
do $$
declare
  v_partition record;
begin
  for v_partition in
    select substr(c.relname, length('attempts_') + 1) as day, pg_get_expr(c.relpartbound, c.oid) as bounds
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'attempts'::regclass
  loop
    execute format(
      'create table delivered_groups_%s partition of delivered_groups %s
       with (autovacuum_analyze_scale_factor = 1, autovacuum_vacuum_insert_scale_factor = 1)',
      v_partition.day,
      v_partition.bounds
    );
  end loop;
end
$$;
