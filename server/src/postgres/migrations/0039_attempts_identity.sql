-- Attempts are found by their event, and a key would cost each one an index entry more. Where replication is logical, an
-- erasure then names the whole row. Partitions that are made later get it when they are made.
alter table attempts replica identity full;
do $$
declare
  v_partition regclass;
begin
  for v_partition in
    select i.inhrelid::regclass
    from pg_inherits i
    where i.inhparent = 'attempts'::regclass
  loop
    execute format('alter table %s replica identity full', v_partition);
  end loop;
end
$$;
