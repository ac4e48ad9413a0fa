-- The targets that publications reach, in the order of their ids: those of a customer, or those without a customer (null).
-- Disabled mailboxes are left out; other disabled targets hold items. At most p_most + 1 targets per publication. Targets in
-- p_except are left out, and so are targets whose filter a publication did not pass; filter is the text of a filter that the
-- caller has not matched yet.
create function publication_targets_of(
  p_orgs uuid[],
  p_customers text[],
  p_event_types text[],
  p_except uuid[],
  p_most integer,
  p_verdict_numbers smallint[],
  p_verdict_filters uuid[],
  p_verdict_passed boolean[]
)
returns table (
  number smallint,
  target_id uuid,
  kind smallint,
  version bigint,
  max_retries smallint,
  held boolean,
  max_bytes integer,
  filter text
)
language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
  select
    p.number::smallint,
    t.id,
    kind_number(t.kind),
    t.version,
    t.max_retries,
    not t.enabled,
    t.max_payload_bytes,
    case when t.filter_digest is not null and not exists (
      select
      from unnest(p_verdict_numbers, p_verdict_filters) as v (number, filter)
      where v.number = p.number
        and v.filter = t.filter_digest
    ) then t.filter end
  from unnest(p_orgs, p_customers, p_event_types) with ordinality as p (org_id, customer, event_type, number)
  cross join lateral (
    (
      select c.id, c.kind, c.version, c.max_retries, c.enabled, c.max_payload_bytes, c.filter, c.filter_digest
      from targets c
      where p.customer is not null
        and c.org_id = p.org_id
        and c.customer_uid = p.customer
        and (c.enabled or not is_pulled(kind_number(c.kind)))
        -- Most targets have no event_types; a call of the function costs as much as the rest of the target's row.
        and (c.event_types = '{}' or matches_event_types(c.event_types, p.event_type))
        and c.id <> all (p_except)
        and (c.filter_digest is null or not exists (
          select
          from unnest(p_verdict_numbers, p_verdict_filters, p_verdict_passed) as v (number, filter, passed)
          where v.number = p.number
            and v.filter = c.filter_digest
            and not v.passed
        ))
      order by c.id
      limit p_most + 1
    )
    union all
    (
      select n.id, n.kind, n.version, n.max_retries, n.enabled, n.max_payload_bytes, n.filter, n.filter_digest
      from targets n
      where p.customer is null
        and n.org_id = p.org_id
        and n.customer_uid is null
        and (n.enabled or not is_pulled(kind_number(n.kind)))
        and (n.event_types = '{}' or matches_event_types(n.event_types, p.event_type))
        and n.id <> all (p_except)
        and (n.filter_digest is null or not exists (
          select
          from unnest(p_verdict_numbers, p_verdict_filters, p_verdict_passed) as v (number, filter, passed)
          where v.number = p.number
            and v.filter = n.filter_digest
            and not v.passed
        ))
      order by n.id
      limit p_most + 1
    )
  ) t;
end
$$;
