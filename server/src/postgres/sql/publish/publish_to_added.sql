-- Sends a publication to the targets that it would reach now and has not reached: as new items, which are billed. The lock
-- keeps two of these from reaching a target twice. Codes:
--   a accepted      n the organization has no such publication      e its payload was erased
--   s suspended      p pending      l too large for the target target_ids[1]      m more than p_most_items targets
--   v targets have filters by which it was not judged: judge it by them, and come again
-- states is as in publish_items.
create function publish_to_added(
  p_org uuid,
  p_publication uuid,
  p_most_items integer,
  -- Filters that it was judged by.
  p_passed uuid[],
  p_failed uuid[],
  out code text,
  out item_ids uuid[],
  out target_ids uuid[],
  out kinds smallint[],
  out states text,
  out filters text[]
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_bucket smallint := get_byte(uuid_send(p_org), 15);
  v_publication record;
  v_targets publication_targets;
begin
  select p.customer_uid, p.event_type, p.event_ids, octet_length(p.payload) as size
  into v_publication
  from publications p
  where p.bucket = v_bucket
    and p.id = p_publication
    and p.org_id = p_org
  for no key update;
  if not found then
    code := 'n';
    return;
  end if;
  if v_publication.size = 0 then
    code := 'e';
    return;
  end if;
  select
    case
      when o.billing_status = 'suspended' then 's'
      when o.billing_status = 'grace' and o.billing_grace_ends_at <= v_now_ms / 1000 then 's'
      when o.billing_status = 'pending' then 'p'
      else 'a'
    end
  into code
  from organizations o
  where o.id = p_org;
  if code <> 'a' then
    return;
  end if;

  v_targets := publication_targets_of(
    p_org,
    v_publication.customer_uid,
    v_publication.event_type,
    array(
      select e.target_id
      from unnest(v_publication.event_ids) as i (id)
      join events e on e.org_id = p_org and e.id = i.id
    ),
    p_most_items,
    p_passed,
    p_failed
  );
  if v_targets.unjudged is not null then
    code := 'v';
    filters := v_targets.unjudged;
    return;
  end if;
  if cardinality(v_targets.ids) > p_most_items then
    code := 'm';
    return;
  end if;
  if v_publication.size > v_targets.max_bytes then
    code := 'l';
    target_ids := array[v_targets.smallest];
    return;
  end if;
  target_ids := coalesce(v_targets.ids, '{}');
  kinds := coalesce(v_targets.kinds, '{}');
  item_ids := new_item_ids(target_ids, v_now_ms);
  states := publication_states(v_targets, '{}', 0);
  if item_ids <> '{}' then
    perform store_published_items(p_publication, v_bucket, v_targets, item_ids, states, true, 0, 0, v_now_ms);
    update publications p
    set event_ids = p.event_ids || publish_to_added.item_ids
    where p.bucket = v_bucket
      and p.id = p_publication;
  end if;
end
$$;
