-- The payloads of publications; empty once they were erased. A claim is followed by a call with the publications of its items. If it
-- looked the payloads up itself, it would lock the publications of every day, and a claim of one item would take a tenth longer.
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
