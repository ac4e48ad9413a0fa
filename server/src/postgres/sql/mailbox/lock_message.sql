-- Locks a message that waits or is claimed, for a caller that changes it without being its holder: first its ordering key,
-- which may take a moment, then its row, without waiting for it. Holders lock in the other order (they have the row and wait
-- for the key), so waiting here could be a deadlock. is_busy: another transaction has locked the row; call again. The callers
-- set planner options, which this function inherits.
create function lock_message(
  p_bucket smallint,
  p_mailbox uuid,
  p_id uuid,
  out is_busy boolean,
  out is_locked boolean,
  out state smallint,
  out claimable_at bigint,
  out claim_count integer,
  out message_position bigint,
  out claimed_by uuid,
  out ordering_key text
) language plpgsql as $$
declare
  v_message record;
  v_key text;
begin
  is_busy := false;
  is_locked := false;
  select m.ordering_key
  into v_key
  from messages m
  where m.bucket = p_bucket
    and m.id = p_id
    and m.mailbox_id = p_mailbox;
  if not found then
    return;
  end if;
  if v_key is not null then
    perform lock_message_keys(p_mailbox, array[v_key]);
  end if;

  select m.state, m.claimable_at, m.claim_count, m.position, m.claimed_by
  into v_message
  from messages m
  where m.bucket = p_bucket
    and m.id = p_id
  for update skip locked;
  if found then
    is_locked := true;
    state := v_message.state;
    claimable_at := v_message.claimable_at;
    claim_count := v_message.claim_count;
    message_position := v_message.position;
    claimed_by := v_message.claimed_by;
    ordering_key := v_key;
    return;
  end if;
  is_busy := exists (
    select
    from messages m
    where m.bucket = p_bucket
      and m.id = p_id
  );
end
$$;
