-- Adds one stored item to its mailbox as a ready message, with the size of its payload, by which claims are bounded.
-- accept_items does the same for a whole batch. The callers set planner options, which this function inherits.
create function put_message(
  p_mailbox uuid,
  p_id uuid,
  p_now_ms bigint
)
returns void language plpgsql as $$
declare
  v_bucket smallint := get_byte(uuid_send(p_id), 15);
  v_item record;
  v_last_position bigint;
begin
  -- The item's event has the payload itself; a replay copies the payload of a publication.
  select octet_length(e.payload) as size, e.ordering_key
  into v_item
  from events e
  where e.bucket = v_bucket
    and e.target_id = p_mailbox
    and e.id = p_id;
  if positions_by_clock() then
    v_last_position := last_position(array[p_mailbox], array[v_item.ordering_key]);
  end if;
  insert into messages (bucket, size, mailbox_id, id, position, ordering_key)
  values (
    v_bucket,
    v_item.size,
    p_mailbox,
    p_id,
    case when positions_by_clock() then v_last_position + 1 else nextval('message_positions') end,
    v_item.ordering_key
  );
  insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
  values (v_bucket, p_now_ms / 60000, 1, 0, 1, p_mailbox);
end
$$;
