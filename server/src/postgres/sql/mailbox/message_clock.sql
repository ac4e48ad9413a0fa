-- The smallest id of a moment in Unix milliseconds: ids below that of `now - retention` have expired.
create function first_id_at(p_ms bigint)
returns uuid
language sql
immutable
as $$
  select (lpad(to_hex(p_ms), 12, '0') || '00000000000000000000')::uuid
$$;

-- The status at p_now_ms of a row of `messages` that has not expired. A lapsed claim reads as UNREAD, or as DEAD when it was the
-- last one that the mailbox allows.
create function message_status(
  p_state smallint,
  p_claimable_at bigint,
  p_claim_count integer,
  p_max_claims integer,
  p_now_ms bigint
)
returns text
language sql
immutable
as $$
  select case
    when p_state <> 2 then 'UNREAD'
    when p_claimable_at > p_now_ms then 'CLAIMED'
    when p_claim_count >= p_max_claims then 'DEAD'
    else 'UNREAD'
  end
$$;

-- The status of one accepted mailbox item, for those who come from `events`: once for each row of a list, which is why it
-- does without settings of its own.
create function mailbox_item_status(
  p_bucket smallint,
  p_mailbox uuid,
  p_id uuid,
  p_now_ms bigint,
  p_retention_ms bigint
)
returns text
language plpgsql
stable
as $$
begin
  return case
    when p_id < first_id_at(p_now_ms - p_retention_ms) then 'EXPIRED'
    else coalesce(
      (
        select case when c.dead then 'DEAD' else 'ACKNOWLEDGED' end
        from closed_messages c
        where c.bucket = p_bucket
          and c.mailbox_id = p_mailbox
          and c.id = p_id
      ),
      (
        select message_status(m.state, m.claimable_at, m.claim_count, t.max_claims, p_now_ms)
        from messages m
        join targets t on t.id = m.mailbox_id
        where m.bucket = p_bucket
          and m.id = p_id
      ),
      -- Neither held nor closed: its mailbox was deleted.
      'CANCELED'
    )
  end;
end
$$;
