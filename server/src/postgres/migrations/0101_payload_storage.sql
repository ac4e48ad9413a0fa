-- Payloads are compressed with lz4 where the server has it, and not at all where it has not: pglz, PostgreSQL's default, takes more
-- time for 100 kB of JSON than all the rest of accepting it. What is stored already stays as it is, and is read as before.
do $$
declare
  v_table regclass;
begin
  for v_table in
    select tree.relid
    from pg_class c
    cross join lateral pg_partition_tree(c.oid) tree
    where c.relname in ('events', 'publications')
      and c.relkind = 'p'
      and (
        c.relnamespace = current_schema()::regnamespace
        or c.relnamespace::regnamespace::text ~ '^postrider_cell_[0-9a-f]{2}$'
      )
  loop
    begin
      execute format('alter table %s alter column payload set compression lz4', v_table);
    exception
      when feature_not_supported then
        execute format('alter table %s alter column payload set storage external', v_table);
    end;
  end loop;
end
$$;
