-- Publications: what was sent with one call to all targets of a customer, and the items that were made of it.

-- The payload stands here once; the items' own is empty. Dropped a day at a time with the items, which are of the same
-- millisecond by their ids.
create table publications (
  -- The organization's, so that a publication stays where its items are.
  bucket smallint not null,
  id uuid not null,
  org_id uuid not null,
  -- Null for the targets that belong to no customer.
  customer_uid text collate "C",
  event_type text,
  correlation_id text,
  ordering_key text,
  -- Empty once it was erased.
  payload bytea not null,
  trace_context bytea,
  -- In the order of their targets; those of a later replay to added targets follow.
  event_ids uuid[] not null,
  constraint publications_pkey primary key (bucket, id)
) partition by range (id);
alter table publications
  alter column payload set statistics 0,
  alter column event_ids set statistics 0;
create index publications_org on publications (org_id, id);
create index publications_customer on publications (org_id, customer_uid, id)
  where customer_uid is not null;
create index publications_correlation on publications (org_id, correlation_id, id)
  where correlation_id is not null;

-- Null for an item that came alone. An older process sends such an item with its own payload, which is empty: publishing
-- begins when none is left (publications/newerOnly.ts).
alter table events add column publication_id uuid;

-- Targets that belong to no customer, which is what `POST /p` reaches.
create index targets_unowned on targets (org_id, id)
  where customer_uid is null;

-- Partitions of the days that are there already.
do $$
declare
  v_partition record;
begin
  for v_partition in
    select substr(c.relname, length('events_') + 1) as day, pg_get_expr(c.relpartbound, c.oid) as bounds
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'events'::regclass
  loop
    execute format(
      'create table publications_%s partition of publications %s
       with (autovacuum_analyze_scale_factor = 1, autovacuum_vacuum_insert_scale_factor = 1)',
      v_partition.day,
      v_partition.bounds
    );
  end loop;
end
$$;
