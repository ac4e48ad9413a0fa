-- Changes a message for a user who intervenes. Without a reason, ends the claim of the message, which makes it claimable at
-- once (or dead, when that was the last claim that its mailbox allows). With a reason, makes a waiting or claimed message
-- dead. The holder's token becomes invalid. The intervention is recorded with its user in the same transaction. Codes:
--   k done
--   n not found: no such message in this mailbox of the organization
--   c it is not claimed
--   e it has ended: acknowledged, dead or canceled
--   x expired
--   b another transaction has locked it: call again
create function force_message(
  p_retention_ms bigint,
  p_org uuid,
  p_mailbox uuid,
  p_id uuid,
  p_reason text,
  p_user uuid,
  -- The user's address at this moment.
  p_email text,
  p_intervention uuid
)
returns text language plpgsql as $$
declare
  v_now_ms bigint := extract(epoch from clock_timestamp()) * 1000;
  v_expired_before uuid := first_id_at(v_now_ms - p_retention_ms);
  v_bucket smallint := get_byte(uuid_send(p_mailbox), 15);
  v_max_claims integer;
  v_message record;
  v_status text;
begin
  select t.max_claims
  into v_max_claims
  from targets t
  where t.id = p_mailbox
    and t.org_id = p_org
    and t.kind = 'mailbox';
  if not found or not exists (
    select
    from events e
    where e.bucket = v_bucket
      and e.target_id = p_mailbox
      and e.id = p_id
  ) then
    return 'n';
  end if;
  if p_id < v_expired_before then
    return 'x';
  end if;

  select *
  into v_message
  from lock_message(v_bucket, p_mailbox, p_id);
  if v_message.is_busy then
    return 'b';
  end if;
  if not v_message.is_locked then
    return 'e';
  end if;
  v_status := message_status(
    v_message.state, v_message.claimable_at, v_message.claim_count, v_max_claims, v_now_ms
  );
  if v_status = 'DEAD' then
    return 'e';
  end if;
  if p_reason is null and v_status <> 'CLAIMED' then
    return 'c';
  end if;

  if p_reason is null then
    update messages m
    set state = 3,
      claimable_at = v_now_ms,
      claimed_by = null,
      claim_token = null
    where m.bucket = v_bucket
      and m.id = p_id;
    if v_message.claim_count >= v_max_claims then
      perform bury_messages(
        v_bucket, p_mailbox, array[p_id], array[v_message.ordering_key], array['its last claim was ended by hand'],
        v_now_ms, v_expired_before
      );
    end if;
  else
    delete from messages m
    where m.bucket = v_bucket
      and m.id = p_id;
    insert into closed_messages (
      bucket, dead, claim_count, mailbox_id, id, position, closed_at, ordering_key, reason
    )
    values (
      v_bucket, true, v_message.claim_count, p_mailbox, p_id, v_message.message_position, v_now_ms,
      v_message.ordering_key, p_reason
    );
    insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
    values (v_bucket, v_now_ms / 60000, 0, 0, -1, p_mailbox);
    perform note_dead_messages(p_mailbox, array[p_id]);
  end if;
  if v_message.ordering_key is not null then
    perform unpark_messages(v_bucket, p_mailbox, array[v_message.ordering_key], v_now_ms, v_expired_before);
  end if;

  insert into message_interventions (
    bucket, message_id, id, org_id, mailbox_id, user_id, email, action, claimed_by, reason, at_ms
  )
  values (
    v_bucket,
    p_id,
    p_intervention,
    p_org,
    p_mailbox,
    p_user,
    p_email,
    case when p_reason is null then 'force_release' else 'force_reject' end,
    case when v_status = 'CLAIMED' then v_message.claimed_by end,
    p_reason,
    v_now_ms
  );
  return 'k';
end
$$;
