-- Erases the payload of a publication when no event refers to the publication any more. The lock serializes the erasures of
-- its last two events.
create function erase_publication(p_publication uuid, p_org uuid, p_now_ms bigint)
returns void language plpgsql as $$
declare
  v_bucket smallint := get_byte(uuid_send(p_publication), 15);
  v_event_ids uuid[];
begin
  select p.event_ids
  into v_event_ids
  from publications p
  where p.bucket = v_bucket
    and p.id = p_publication
  for no key update;
  if exists (
    select
    from unnest(v_event_ids) as i (id)
    join events e on e.org_id = p_org and e.id = i.id
    where e.publication_id = p_publication
  ) then
    return;
  end if;
  update publications p
  set payload = ''
  where p.bucket = v_bucket
    and p.id = p_publication;
  if p_publication > first_id_at(p_now_ms - 3 * 86400000) then
    insert into erased_digests (bucket, event_id)
    values (v_bucket, p_publication)
    on conflict do nothing;
  end if;
end
$$;
