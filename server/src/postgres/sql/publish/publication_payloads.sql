-- The payloads of publications; empty once they were erased. A claim asks for those of its items afterwards: a claim that looked them up
-- would lock the publications of every day, which costs one of a single item a tenth of its time.
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
