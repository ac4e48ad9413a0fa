-- Narrows locked messages to those that may be claimed: at most p_room, only the first of an ordering key, and together at
-- most p_max_bytes of payloads. The first message of a claim (p_is_first) may be larger. The callers set planner options,
-- which this function inherits.
create function narrow_choice(
  p_bucket smallint,
  p_mailbox uuid,
  p_choice chosen_messages,
  p_room integer,
  p_max_bytes bigint,
  p_is_first boolean,
  p_now_ms bigint,
  p_expired_before uuid
)
returns chosen_messages language plpgsql as $$
declare
  v_choice chosen_messages := p_choice;
  v_keyed record;
begin
  v_choice.room := p_room;
  v_choice.is_cut := p_choice.bytes > p_max_bytes;
  if p_choice.is_keyed then
    v_keyed := choose_keyed_messages(
      p_bucket, p_mailbox, p_choice.ids, p_choice.keys, p_now_ms, p_expired_before
    );
    v_choice.ids := v_keyed.ids;
    v_choice.is_busy := p_choice.is_busy or v_keyed.skipped;
    v_choice.is_restarted := v_keyed.unparked;
  end if;
  if v_choice.is_cut then
    v_choice.room := greatest(count_within_bytes(v_choice.ids[1 : p_room], p_max_bytes), p_is_first::integer);
  end if;
  if cardinality(v_choice.ids) > v_choice.room then
    v_choice.ids := v_choice.ids[1 : v_choice.room];
    if p_choice.positions is not null then
      v_choice.walked_to := coalesce(
        p_choice.positions[array_position(p_choice.ids, v_choice.ids[v_choice.room])],
        0
      );
    end if;
  end if;
  return v_choice;
end
$$;

-- The number of messages, counted from the first, whose payloads have at most p_max_bytes together.
create function count_within_bytes(p_ids uuid[], p_max_bytes bigint)
returns integer language plpgsql as $$
begin
  return count(*) filter (where s.total <= p_max_bytes)
  from (
    select sum(m.size) over (order by i.number) as total
    from unnest(p_ids) with ordinality as i (id, number)
    join messages m on m.bucket = get_byte(uuid_send(i.id), 15) and m.id = i.id
  ) s;
end
$$;
