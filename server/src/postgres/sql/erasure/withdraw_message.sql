-- Removes a message from its mailbox, claimed or not. A dead message, which could be redriven, is removed from the dead
-- messages. The callers set planner options, which this function inherits.
create function withdraw_message(
  p_bucket smallint,
  p_mailbox uuid,
  p_id uuid,
  p_now_ms bigint,
  p_expired_before uuid,
  out is_busy boolean,
  out is_withdrawn boolean
) language plpgsql as $$
declare
  v_message record;
begin
  is_withdrawn := false;
  select *
  into v_message
  from lock_message(p_bucket, p_mailbox, p_id);
  is_busy := v_message.is_busy;
  if is_busy then
    return;
  end if;
  if not v_message.is_locked then
    delete from closed_messages c
    where c.bucket = p_bucket
      and c.mailbox_id = p_mailbox
      and c.id = p_id
      and c.dead;
    is_withdrawn := found;
    -- A redrive that has committed meanwhile may have put the message back.
    is_busy := not found and exists (
      select
      from messages m
      where m.bucket = p_bucket
        and m.id = p_id
    );
    return;
  end if;

  delete from messages m
  where m.bucket = p_bucket
    and m.id = p_id;
  insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
  values (p_bucket, p_now_ms / 60000, 0, 0, -1, p_mailbox);
  if v_message.ordering_key is not null then
    perform unpark_messages(p_bucket, p_mailbox, array[v_message.ordering_key], p_now_ms, p_expired_before);
  end if;
  is_withdrawn := true;
end
$$;
