-- The targets that a publication of this type reaches: a customer's, or those that are nobody's (null). A mailbox that is
-- disabled takes nothing; the others hold what comes. At most one more than p_most are given. p_except are left out.
-- The publication was judged by the filters p_passed and p_failed: those targets are left out that have one which failed.
create function publication_targets_of(
  p_org uuid,
  p_customer text,
  p_event_type text,
  p_except uuid[],
  p_most integer,
  p_passed uuid[],
  p_failed uuid[]
)
returns publication_targets language plpgsql stable as $$
declare
  v_targets publication_targets;
begin
  select
    array_agg(t.id order by t.id),
    array_agg((case t.kind when 'webhook' then 1 when 'mailbox' then 2 else 3 end)::smallint order by t.id),
    array_agg(t.version order by t.id),
    array_agg(t.max_retries order by t.id),
    array_agg(not t.enabled order by t.id),
    min(t.max_payload_bytes),
    (array_agg(t.id order by t.max_payload_bytes, t.id))[1],
    array_agg(t.filter) filter (where t.filter_digest is not null and t.filter_digest <> all (p_passed))
  into v_targets
  from (
    (
      select c.*
      from targets c
      where p_customer is not null
        and c.org_id = p_org
        and c.customer_uid = p_customer
        and (c.enabled or c.kind <> 'mailbox')
        and matches_event_types(c.event_types, p_event_type)
        and c.id <> all (p_except)
        and (c.filter_digest is null or c.filter_digest <> all (p_failed))
      order by c.id
      limit p_most + 1
    )
    union all
    (
      select n.*
      from targets n
      where p_customer is null
        and n.org_id = p_org
        and n.customer_uid is null
        and (n.enabled or n.kind <> 'mailbox')
        and matches_event_types(n.event_types, p_event_type)
        and n.id <> all (p_except)
        and (n.filter_digest is null or n.filter_digest <> all (p_failed))
      order by n.id
      limit p_most + 1
    )
  ) t;
  return v_targets;
end
$$;
