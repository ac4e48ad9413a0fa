-- Settles at most p_limit messages of one deleted mailbox as CANCELED; returns their number.
create function cancel_messages(
  p_bucket smallint,
  p_org uuid,
  p_mailbox uuid,
  p_limit integer
)
returns integer language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_count integer;
begin
  with held as materialized (
    select h.id
    from (
      select m.id
      from messages m
      where m.bucket = p_bucket
        and m.mailbox_id = p_mailbox
        and m.state = 1
      union all
      select m.id
      from messages m
      where m.bucket = p_bucket
        and m.mailbox_id = p_mailbox
        and m.state <> 1
    ) h
    limit p_limit
  ),
  locked as materialized (
    select m.id
    from held h
    join messages m on m.bucket = p_bucket and m.id = h.id
    for update of m skip locked
  ),
  gone as (
    delete from messages m
    using locked
    where m.bucket = p_bucket
      and m.id = locked.id
    returning m.id
  )
  insert into settlements (bucket, status, event_id, org_id, target_id, settled_at)
  select p_bucket, 'CANCELED', gone.id, p_org, p_mailbox, v_now_ms
  from gone
  on conflict do nothing;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
