-- The payloads of publications; empty after an erasure. The caller of a claim calls this function afterwards, with the
-- publications of the claimed items. If the claim itself looked the payloads up, it would lock the partitions of every day,
-- and a claim of one item would take a tenth longer.
create function publication_payloads(p_ids uuid[])
returns table (id uuid, payload bytea)
language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
  select p.id, p.payload
  from unnest(p_ids) as i (id)
  join publications p on p.bucket = get_byte(uuid_send(i.id), 15) and p.id = i.id;
end
$$;
