-- Returns why a change of a claim matched nothing, from the state of the message.
--   r repeated: the same key (and token) has made the same change before
--   f another key has claimed it
--   s no active claim, or one with another token
--   x expired      n not found
-- The callers set planner options, which this function inherits. p_dead: whether the holder wanted the message dead (true) or
-- acknowledged (false); null when it wanted neither.
create function message_refusal(
  p_id uuid,
  p_key uuid,
  p_org uuid,
  p_mailbox uuid,
  p_token uuid,
  p_dead boolean,
  p_now_ms bigint,
  p_expired_before uuid
)
returns text language plpgsql as $$
declare
  v_bucket smallint := get_byte(uuid_send(p_id), 15);
  v_item record;
  v_message record;
  v_closed record;
begin
  select e.target_id as mailbox_id
  into v_item
  from events e
  join targets t on t.id = e.target_id and t.org_id = p_org
  where e.org_id = p_org
    and e.id = p_id
    and is_pulled(e.kind)
    and (p_mailbox is null or e.target_id = p_mailbox);
  if not found then
    return 'n';
  end if;
  if p_id < p_expired_before then
    return 'x';
  end if;

  select c.dead, c.claimed_by, c.claim_token
  into v_closed
  from closed_messages c
  where c.bucket = v_bucket
    and c.mailbox_id = v_item.mailbox_id
    and c.id = p_id;
  if found then
    return case
      when v_closed.dead = p_dead
        and v_closed.claimed_by = p_key
        and (p_token is null or v_closed.claim_token = p_token) then 'r'
      else 's'
    end;
  end if;

  select m.state, m.claimable_at, m.claimed_by, m.claim_token
  into v_message
  from messages m
  where m.bucket = v_bucket
    and m.id = p_id;
  return case
    when v_message.state = 2
      and v_message.claimable_at > p_now_ms
      and v_message.claimed_by <> p_key
      and (p_token is null or v_message.claim_token = p_token) then 'f'
    else 's'
  end;
end
$$;
