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
