-- Sends a publication to the targets that it would reach now and has not reached yet, as new items, which are billed. The
-- lock on the publication prevents two calls from reaching a target twice. Codes:
--   a accepted      n the organization has no such publication      e its payload was erased, or is being erased
--   s suspended      p pending      l too large for the target target_ids[1]      m more than p_most_items targets
--   v it was not matched yet with the filters of some targets, which are in filters: match it, and call again
create function publish_to_added(
  p_org uuid,
  p_publication uuid,
  p_most_items integer,
  -- The filters that the publication was matched with, and whether it passed each.
  p_verdict_filters uuid[],
  p_verdict_passed boolean[],
  -- An erasure by correlation id also erases events that are created within this time after the erasure was requested.
  p_erasure_allowance_ms bigint,
  out code text,
  out item_ids uuid[],
  out target_ids uuid[],
  out kinds smallint[],
  out filters text[]
) language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_bucket smallint := get_byte(uuid_send(p_org), 15);
  v_publication record;
  v_number constant smallint := 1;
  -- The targets that the publication has already reached.
  v_reached uuid[];
  v_held boolean[];
  v_versions bigint[];
  v_max_retries smallint[];
  v_smallest integer;
begin
  select
    p.customer_uid, p.event_type, p.correlation_id, p.ordering_key, p.trace_context, p.payload, p.event_ids,
    octet_length(p.payload) as size
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
  -- The erasure would not find copies made from now on, because their ids are later.
  if exists (
    select
    from erasures x
    where x.org_id = p_org
      and x.status = 'RUNNING'
      and x.correlation_id = v_publication.correlation_id
      and p_publication < first_id_at(x.created_at + p_erasure_allowance_ms)
  ) then
    code := 'e';
    return;
  end if;
  select coalesce(intake_refusal(o.id, o.billing_status, o.billing_grace_ends_at, v_now_ms), 'a')
  into code
  from organizations o
  where o.id = p_org;
  if code <> 'a' then
    return;
  end if;

  v_reached := array(
    select e.target_id
    from unnest(v_publication.event_ids) as i (id)
    join events e on e.org_id = p_org and e.id = i.id
  );
  select
    array_agg(t.target_id order by t.target_id),
    array_agg(t.kind order by t.target_id),
    array_agg(t.version order by t.target_id),
    array_agg(t.max_retries order by t.target_id),
    array_agg(t.held order by t.target_id),
    min(t.max_bytes),
    array_agg(distinct t.filter) filter (where t.filter is not null)
  into target_ids, kinds, v_versions, v_max_retries, v_held, v_smallest, filters
  from publication_targets_of(
    array[p_org],
    array[v_publication.customer_uid],
    array[v_publication.event_type],
    v_reached,
    p_most_items,
    array_fill(v_number, array[cardinality(p_verdict_filters)]),
    p_verdict_filters,
    p_verdict_passed
  ) t;
  if filters is not null then
    code := 'v';
    return;
  end if;
  if cardinality(target_ids) > p_most_items then
    code := 'm';
    return;
  end if;
  if v_publication.size > v_smallest then
    code := 'l';
    target_ids := array(
      select t.id
      from targets t
      where t.id = any (target_ids)
      order by t.max_payload_bytes, t.id
      limit 1
    );
    return;
  end if;
  item_ids := array(
    select new_item_id(get_byte(uuid_send(t.id), 15)::smallint, v_now_ms)
    from unnest(target_ids) with ordinality as t (id, n)
    order by t.n
  );
  if item_ids <> '{}' then
    perform
    from store_published_items(
      0, 0, 0, '{}', v_now_ms, array[p_publication], array[p_org], array[v_publication.event_type],
      array[v_publication.correlation_id], array[v_publication.ordering_key], array[v_publication.size],
      array[v_publication.trace_context], array[v_publication.payload],
      array_fill(v_number, array[cardinality(item_ids)]), item_ids, target_ids, kinds, v_versions, v_max_retries, v_held
    );
    update publications p
    set event_ids = p.event_ids || publish_to_added.item_ids
    where p.bucket = v_bucket
      and p.id = p_publication;
  end if;
end
$$;
